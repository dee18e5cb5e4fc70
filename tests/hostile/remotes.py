"""Links, credentials, and how a remote API server may behave."""

from tests.hostile.row import Part, Row

CREDENTIALS = Part(
    "Links and credentials",
    (
        Row(
            "a kubeconfig that runs a program",
            ("unit",),
            (
                "kube/test_restricted.py::test_a_plugin_is_refused_and_not_run",
                "kube/test_restricted.py::test_what_no_context_uses_is_checked_too",
            ),
        ),
        Row(
            "a kubeconfig that switches TLS checks off",
            ("unit",),
            (
                "kube/test_restricted.py::test_a_cluster_that_could_do_harm_is_refused",
                "kube/test_kubeconfig.py::test_a_dangerous_choice_of_ones_own_comes_with_a_warning",
            ),
        ),
        Row(
            "a server without TLS",
            ("unit", "integration"),
            (
                "kube/test_restricted.py::test_a_cluster_that_could_do_harm_is_refused",
                "kube/test_http.py::test_a_server_that_speaks_plain_http_is_found_out",
            ),
        ),
        Row(
            "a server at an address of metadata, of loopback, or of nobody",
            ("unit", "integration"),
            (
                "model/test_addresses.py::test_an_address_is_refused_for_a_reason",
                "kube/test_restricted.py::test_a_cluster_that_could_do_harm_is_refused",
                "kube/test_restricted.py"
                "::test_a_proxy_that_is_allowed_must_not_be_the_metadata_service",
                "kube/test_resolving.py::test_a_name_that_leads_to_a_refused_address_is_refused",
            ),
        ),
        Row(
            "base64 in several lines, a token with an end of line",
            ("unit",),
            (
                "kube/test_kubeconfig.py::test_a_token_is_trimmed_and_shown_nowhere",
                "kube/test_kubeconfig.py::test_everything_that_a_cluster_can_say_is_understood",
            ),
        ),
        Row(
            "an authority that is not the server's",
            ("simulation", "integration"),
            (
                "kube/test_tls.py::test_a_certificate_of_another_authority_shows_both",
                "apps/test_hostile_targets.py"
                "::test_a_target_whose_certificate_is_not_trusted_is_kept_as_it_was",
            ),
        ),
        Row(
            "a Secret that leads to another cluster",
            ("simulation", "integration"),
            (
                "apps/test_mirroring.py::test_a_secret_for_another_cluster_is_refused",
                "apps/test_mirroring.py"
                "::test_a_target_that_was_rebuilt_behind_its_address_is_not_believed",
                "kube/test_pinned.py::test_of_another_cluster_nothing_is_believed_also_if_it_came_this_very_moment",
            ),
        ),
        Row(
            "a Link whose name is no name of a cluster",
            ("unit", "integration", "command line"),
            (
                "contract/test_our_kinds.py::test_a_link_with_an_impossible_name_is_refused",
                "contract/test_our_kinds.py::test_a_link_is_named_after_a_cluster",
                "core/test_names.py::test_a_link_whose_name_is_not_a_cluster_makes_nothing",
                "cli/joining/test_link.py::test_mistakes_are_named_before_any_cluster_is_asked",
            ),
        ),
        Row(
            "a Link with impossible ports, times and limits",
            ("unit", "integration", "command line"),
            (
                "contract/test_our_kinds.py::test_the_schema_refuses_a_bad_link",
                "contract/test_our_kinds.py::test_the_rules_refuse_a_bad_link",
                "cli/joining/test_settings.py::test_what_is_refused_is_named",
                "model/test_times.py::test_a_duration_without_end_is_none",
            ),
        ),
    ),
)

SERVERS = Part(
    "How a remote API server behaves",
    (
        Row(
            "a list that is suddenly empty",
            ("simulation",),
            (
                "apps/test_mirroring.py::test_an_empty_list_deletes_nothing",
                "apps/test_endpoints_held.py::test_an_empty_list_of_slices_takes_no_endpoint_away",
                "apps/test_doubting.py::test_one_empty_list_ends_nothing_that_a_gateway_serves",
                "apps/test_catalogue_hostile.py::test_one_lie_is_not_enough_for_a_mass_deletion",
            ),
        ),
        Row(
            "a list that lacks a third",
            ("unit", "simulation"),
            (
                "core/test_guard.py::test_a_mass_deletion_is_held",
                "core/test_guard.py::test_what_was_held_goes_when_a_second_list_says_the_same",
                "apps/test_mirroring.py"
                "::test_a_true_mass_deletion_waits_for_a_second_list_and_then_happens",
            ),
        ),
        Row(
            "a list that is none: null, nameless, or a Status",
            ("unit", "simulation"),
            (
                "kube/test_client.py::test_an_answer_of_another_kind_is_refused",
                "kube/test_reflector.py::test_a_list_that_is_none_deletes_nothing",
                "fuzz/test_targets.py::test_what_is_kept_does_no_harm[list-of-the-api]",
            ),
        ),
        Row(
            "a list that expires between two of its pages",
            ("unit", "integration"),
            (
                "kube/test_client.py::test_a_token_that_expires_half_way_discards_all_pages",
                "contract/test_reflector.py::test_a_list_whose_token_expires_is_read_again",
            ),
        ),
        Row(
            "a version that is gone, told in either way, once and a hundred times",
            ("unit", "integration"),
            (
                "kube/test_reflector.py::test_an_expired_version_leads_to_exactly_one_list",
                "kube/test_reflector.py"
                "::test_a_server_that_forgets_at_once_again_and_again_is_asked_less_and_less",
                "contract/test_reflector.py::test_a_forgotten_version_leads_to_a_new_snapshot",
                "contract/test_reflector.py::test_a_forgotten_version_may_be_told_by_the_status",
            ),
        ),
        Row(
            "events twice, in another order, or from long ago",
            ("simulation",),
            (
                "kube/test_reflector_under_fault.py"
                "::test_any_mixture_of_faults_and_changes_ends_in_the_servers_state",
                "sim/test_replay.py::test_a_schedule_that_failed_once_passes_now",
            ),
        ),
        Row(
            "the deletion of an object that had the name before",
            ("unit", "simulation"),
            (
                "kube/test_reflector.py"
                "::test_a_deletion_counts_if_it_is_that_of_the_object_we_know",
                "apps/test_hostile_targets.py"
                "::test_a_repeated_deletion_of_a_former_service_takes_no_mirror",
            ),
        ),
        Row(
            "a change with an older version",
            ("simulation",),
            (
                "kube/test_reflector_under_fault.py"
                "::test_a_watch_from_before_a_restore_is_found_out",
                "kube/test_reflector_under_fault.py"
                "::test_versions_that_a_restore_hands_out_twice_are_not_mistaken_for_each_other",
            ),
        ),
        Row(
            "a stream that is cut in a word, has no end of line, no text, or no bottom",
            ("unit", "integration"),
            (
                "kube/test_watch.py::test_what_is_no_event_is_refused",
                "kube/test_watch.py::test_a_stream_that_ends_within_a_line_has_broken_off",
                "kube/test_http.py::test_a_line_of_a_hundred_megabytes_is_given_up",
                "apps/test_catalogue_hostile.py"
                "::test_a_catalogue_that_makes_no_sense_takes_nothing_away",
                "kube/test_client.py::test_a_list_that_is_too_large_is_given_up",
                "kube/test_reflector.py::test_an_endless_initial_state_does_not_fill_the_memory",
                "fuzz/test_targets.py::test_what_is_kept_does_no_harm[watch-of-the-api]",
            ),
        ),
        Row(
            "a redirect to another host",
            ("integration",),
            ("kube/test_http.py::test_a_redirect_is_not_followed_and_the_token_goes_nowhere",),
        ),
        Row(
            "a server that accepts and stays silent, at any point, or speaks byte by byte",
            ("unit", "integration"),
            (
                "kube/test_client.py::test_every_wait_has_an_end",
                "kube/test_http.py::test_a_server_that_misbehaves",
                "kube/test_http.py::test_a_server_that_does_not_speak_tls_is_found_out_in_time",
                "kube/test_http.py::test_a_watch_that_falls_silent_is_given_up",
                "catalogue/test_serving.py::test_an_answer_that_comes_byte_by_byte_is_none",
            ),
        ),
        Row(
            "a clock that is minutes or a day off",
            ("simulation",),
            (
                "apps/test_hostile_targets.py"
                "::test_a_target_whose_clock_is_wrong_is_mirrored_and_the_difference_told",
                "kube/test_lease.py::test_others_wall_clocks_mean_nothing",
            ),
        ),
        Row(
            "tens of thousands of exports of one target",
            ("simulation",),
            (
                "apps/test_hostile_targets.py"
                "::test_a_flood_of_exports_from_one_target_slows_no_other",
                "apps/test_mirroring.py::test_the_limit_keeps_the_oldest_exports",
                "catalogue/test_reader.py::test_more_than_the_limits_is_refused",
            ),
        ),
    ),
)

PARTS = (CREDENTIALS, SERVERS)
