"""Whoever comes to the gateway, and to the controller's two ports."""

from tests.hostile.row import Part, Row

GATEWAY = Part(
    "The gateway and the egress",
    (
        Row(
            "no certificate, or one that is self-signed, foreign, expired or not yet valid",
            ("integration",),
            (
                "xds/test_strangers.py::test_without_a_certificate_nobody_comes_in",
                "xds/test_strangers.py::test_without_a_certificate_nobody_opens_a_tunnel",
                "xds/test_strangers.py::test_a_certificate_that_is_not_right_is_refused",
                "xds/test_strangers.py::test_a_certificate_that_is_not_right_opens_no_tunnel",
            ),
        ),
        Row(
            "a certificate for another purpose",
            ("unit", "integration"),
            (
                "xds/test_strangers.py"
                "::test_a_certificate_that_no_controller_makes_is_refused_and_counted",
                "xds/test_leaves.py::test_a_leaf_for_something_else_is_not_proper",
                "fuzz/test_targets.py::test_what_is_kept_does_no_harm[leaf]",
            ),
        ),
        Row(
            "a name that is no URI, or two of them",
            ("unit", "integration"),
            (
                "pki/test_verify.py::test_our_verifier_refuses_every_hostile_certificate",
                "xds/test_strangers.py::test_a_whole_namespace_is_let_in_one_name_at_a_time",
                "catalogue/test_callers.py"
                "::test_a_name_in_a_certificate_cannot_pass_for_another_cluster",
            ),
        ),
        Row(
            "a certificate of another cluster",
            ("unit", "integration"),
            (
                "pki/test_verify.py::test_openssl_says_that_east_cannot_speak_for_west",
                "core/test_grant.py"
                "::test_a_cluster_is_not_mistaken_for_another_that_starts_like_it",
                "xds/test_forms.py"
                "::test_what_is_granted_to_one_cluster_is_not_granted_to_the_same_account"
                "_of_another",
            ),
        ),
        Row(
            "an issuer made from a leaf, or one too many",
            ("unit", "integration"),
            (
                "xds/test_strangers.py::test_a_certificate_that_is_not_right_is_refused"
                "[below a leaf]",
                "xds/test_strangers.py::test_a_certificate_that_is_not_right_is_refused"
                "[a longer chain]",
                "xds/test_leaves.py::test_an_authority_cannot_hide_what_it_is",
            ),
        ),
        Row(
            "server names that are absent, wild, addresses, too long, or spelled otherwise",
            ("integration",),
            (
                "xds/test_forms.py"
                "::test_a_strange_server_name_is_answered_or_not_and_leads_nowhere",
                "xds/test_forms.py"
                "::test_another_spelling_of_a_server_name_is_the_same_name_or_none",
                "xds/test_refusals.py::test_a_tunnel_leads_nowhere_else",
            ),
        ),
        Row(
            "whole URIs, CONNECT, upgrades, and web sockets to what is private",
            ("integration",),
            (
                "xds/test_forms.py::test_a_whole_uri_leads_where_the_header_leads_and_nowhere_else",
                "xds/test_forms.py::test_nothing_is_turned_into_another_protocol",
                "xds/test_forms.py::test_an_upgrade_to_http_2_is_not_passed_on",
                "xds/test_refusals.py::test_whoever_comes_to_the_gateway_itself_gets_no_further",
            ),
        ),
        Row(
            "requests hidden in requests, in HTTP/1 and HTTP/2",
            ("integration",),
            (
                "xds/test_smuggling.py::test_what_could_be_read_in_two_ways_is_not_read_at_all",
                "xds/test_smuggling.py::test_what_is_allowed_arrives_as_one_request",
                "xds/test_smuggling.py"
                "::test_what_is_mended_reaches_a_pod_in_lines_that_mean_one_thing",
                "xds/test_smuggling.py"
                "::test_of_two_destinations_the_one_that_is_judged_is_the_one_that_is_reached",
                "xds/test_smuggling.py::test_http_2_says_nothing_that_http_1_would_read_as_more",
                "xds/test_smuggling.py::test_http_2_is_as_long_as_it_says",
                "xds/test_smuggling.py::test_headers_of_two_streams_cannot_be_mixed",
            ),
        ),
        Row(
            "headers that name a caller or steer a proxy",
            ("integration",),
            (
                "xds/test_forms.py::test_no_header_that_is_said_to_a_proxy_reaches_a_pod",
                "xds/test_crossing.py::test_nobody_can_say_who_they_are",
                "xds/test_refusals.py"
                "::test_whoever_comes_to_the_gateway_itself_cannot_say_who_they_are",
                "catalogue/test_callers.py::test_fields_hidden_in_a_name_are_refused",
                "fuzz/test_targets.py::test_what_is_kept_does_no_harm[caller-named-by-the-gateway]",
            ),
            "Identity headers of other meshes pass like any header of an application: nothing of "
            "ours believes them, and whoever does takes them off at its own border.",
        ),
        Row(
            "paths that are spelled otherwise",
            ("integration",),
            ("xds/test_forms.py::test_a_path_is_the_same_to_a_pod_whichever_way_it_came",),
        ),
        Row(
            "floods of resets, of headers, of control frames; bombs; silence; idle connections",
            ("integration",),
            (
                "xds/test_floods.py::test_whoever_floods_a_connection_is_hung_up_on",
                "xds/test_floods.py"
                "::test_a_few_bytes_that_stand_for_many_headers_are_not_written_out",
                "xds/test_floods.py::test_streams_beyond_the_limit_are_refused",
                "xds/test_floods.py"
                "::test_two_thousand_connections_that_say_nothing_keep_nobody_out",
                "xds/test_floods.py::test_whoever_never_comes_to_the_point_is_hung_up_on",
            ),
        ),
        Row(
            "the gateway as a relay to anything that listens",
            ("integration",),
            (
                "xds/test_forms.py::test_a_gateway_is_no_relay_to_anything_that_listens",
                "dataplane/test_limits.py::test_a_stolen_certificate_leads_nowhere_else",
                "dataplane/test_limits.py::test_of_the_admin_interface_only_two_pages_can_be_read",
            ),
        ),
        Row(
            "plain HTTP where TLS is spoken",
            ("integration",),
            (
                "xds/test_strangers.py::test_plain_text_is_not_answered",
                "dataplane/test_limits.py::test_plain_text_is_not_answered",
                "apps/test_front.py::test_older_tls_and_plain_http_get_no_answer",
            ),
        ),
        Row(
            "an export that ends while requests are under way",
            ("integration",),
            (
                "xds/test_crossing.py::test_what_is_exported_changes_under_open_connections",
                "dataplane/test_limits.py::test_what_was_exported_a_moment_ago_cannot_be_called",
                "dataplane/test_limits.py"
                "::test_a_connection_outlives_its_callers_grant_but_not_its_port",
            ),
        ),
    ),
)

CONTROLLER = Part(
    "Configuration and certificates",
    (
        Row(
            "a stream of configuration without a certificate, or with a wrong one",
            ("integration",),
            (
                "envoy/test_ads_hostile.py::test_who_shows_no_certificate_gets_nothing",
                "envoy/test_ads_hostile.py::test_a_certificate_that_proves_nobody_gets_nothing",
                "envoy/test_ads_hostile.py"
                "::test_an_account_that_is_no_proxy_is_counted_and_told_why",
            ),
        ),
        Row(
            "a proxy that gives itself the name of another",
            ("integration",),
            (
                "envoy/test_ads_hostile.py"
                "::test_a_proxy_has_the_name_of_the_pod_that_got_its_certificate",
                "apps/test_witness.py"
                "::test_a_proxy_speaks_for_the_pod_that_got_its_certificate_and_for_no_other",
            ),
            "The name is not refused, but ignored: what a proxy is told, and whose report it is, "
            "follows from its certificate.",
        ),
        Row(
            "huge requests, unknown types, invented answers, floods of them",
            ("unit", "integration"),
            (
                "envoy/test_ads_hostile.py::test_a_request_that_is_too_large_ends_the_stream",
                "envoy/test_ads_hostile.py::test_nonsense_has_no_effect",
                "envoy/test_ads_hostile.py"
                "::test_a_proxy_that_guesses_answers_and_reads_nothing_costs_little",
                "xds/test_session.py::test_types_that_are_not_ours_have_no_effect",
                "xds/test_session.py::test_a_flood_of_answers_is_answered_by_nothing",
                "fuzz/test_targets.py::test_what_is_kept_does_no_harm[requests-of-a-proxy]",
            ),
        ),
        Row(
            "configuration that Envoy refuses",
            ("unit", "simulation", "integration"),
            (
                "envoy/test_ads.py::test_a_refused_listener_is_reported_and_the_others_live",
                "xds/test_session.py::test_a_refused_resource_is_not_sent_again_until_it_changes",
                "apps/test_hearing.py::test_a_refusal_stands_in_the_links_status_until_it_is_over",
            ),
        ),
        Row(
            "a controller that starts while its API server is away",
            ("simulation", "integration"),
            (
                "apps/test_proxies.py::test_nothing_is_said_before_everything_is_known",
                "envoy/test_ads.py::test_nothing_is_said_before_something_was_published",
                "dataplane/test_churn.py"
                "::test_controllers_are_replaced_also_while_their_clusters_api_is_away",
            ),
        ),
        Row(
            "requests for certificates that are forged, weak, off the curve, or too large",
            ("unit",),
            (
                "pki/test_issue.py::test_bad_requests_get_one_sentence",
                "apps/test_signing.py::test_requests_that_prove_no_key",
                "apps/test_front.py::test_a_pod_gets_its_certificate_over_https",
                "fuzz/test_targets.py::test_what_is_kept_does_no_harm[signing-request]",
            ),
        ),
        Row(
            "a token whose pod is gone",
            ("simulation", "integration"),
            (
                "apps/test_signing.py::test_the_token_of_a_deleted_pod_proves_nobody",
                "contract/test_signing.py"
                "::test_a_token_is_good_for_nothing_once_its_pod_is_deleted",
            ),
        ),
        Row(
            "ten thousand requests of one identity",
            ("simulation", "integration"),
            (
                "apps/test_signing.py"
                "::test_ten_thousand_requests_of_one_identity_leave_the_others_served",
                "apps/test_front.py::test_nobody_takes_all_connections",
            ),
        ),
        Row(
            "files of anchors that hold something else",
            ("unit", "command line"),
            (
                "pki/test_bundle.py::test_what_is_no_bundle_gets_one_sentence",
                "pki/test_bundle.py::test_what_copying_does_to_an_anchor_does_no_harm",
                "pki/test_bundle.py::test_an_expired_anchor_among_others_is_named_and_kept",
                "cli/trusting/test_trust.py::test_inspecting_a_file_with_a_key_shows_no_key",
            ),
        ),
        Row(
            "a rotation that is broken off",
            ("unit", "simulation", "integration"),
            (
                "pki/test_rotation.py::test_nobody_is_cut_off_in_any_storm_and_afterwards_it_ends",
                "apps/rotation/test_driving.py"
                "::test_others_go_on_where_a_driver_has_ended_in_every_phase",
                "dataplane/test_rotation.py"
                "::test_a_rotation_is_rolled_back_from_every_phase_under_load",
            ),
        ),
        Row(
            "a wall clock that jumps",
            ("simulation",),
            (
                "apps/test_authority.py::test_a_wall_clock_that_jumps_far_takes_nothing_away",
                "apps/test_authority.py"
                "::test_a_wall_clock_that_goes_back_does_not_put_off_what_is_due",
                "pki/test_renewal.py::test_renewals_are_spread",
            ),
            "Leap seconds and summer time are not seen: waits use a clock that only grows, and "
            "all times are UTC.",
        ),
    ),
)

PARTS = (GATEWAY, CONTROLLER)
