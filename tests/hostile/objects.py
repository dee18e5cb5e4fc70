"""Objects that mean harm: exports of a target, and what people do to mirrors here."""

from tests.hostile.row import Part, Row

EXPORTED = Part(
    "Objects of a target",
    (
        Row(
            "an export whose mirror would be somebody's Service",
            ("unit", "integration"),
            (
                "core/test_mirror.py::test_a_service_that_is_not_ours_is_left_alone",
                "core/test_plan_properties.py::test_what_is_not_ours_is_never_touched",
                "apps/test_real.py::test_hostile_objects_on_real_api_servers",
            ),
        ),
        Row(
            "an export whose mirror would be the API's Service, or the cluster's DNS",
            ("unit",),
            (
                "core/test_lifecycle.py::test_the_service_of_the_api_server_is_never_made_by_us",
                "core/test_lifecycle.py::test_protected_namespaces_get_no_mirrors",
            ),
        ),
        Row(
            "an export in a namespace of the system or of our own",
            ("unit",),
            (
                "core/test_lifecycle.py::test_protected_namespaces_get_no_mirrors",
                "core/test_lifecycle.py::test_unless_the_link_allows_it",
            ),
        ),
        Row(
            "names that are too long, begin with a digit, or are no names",
            ("unit",),
            (
                "core/test_names.py::test_names_that_are_cut_stay_different",
                "core/test_names.py::test_a_name_that_no_service_can_have_is_refused",
                "core/test_names.py::test_every_name_is_a_valid_one_and_the_same_every_time",
                "catalogue/test_reader.py"
                "::test_an_export_that_cannot_be_mirrored_is_refused_by_itself",
            ),
        ),
        Row(
            "two exports of two links that mean the same name",
            ("unit",),
            (
                "core/test_names.py::test_one_name_of_two_meanings_has_one_owner_for_ever",
                "core/test_lifecycle.py::test_who_has_a_name_keeps_it_over_a_thousand_resyncs",
            ),
        ),
        Row(
            "two names that are cut to the same",
            ("unit",),
            (
                "core/test_names.py"
                "::test_two_cut_names_with_the_same_hash_are_a_clash_like_any_other",
            ),
        ),
        Row(
            "names and protocols of ports that no API server takes",
            ("unit",),
            (
                "core/test_export.py::test_what_a_mirror_can_do_without_is_left_out_of_a_port",
                "core/test_export.py::test_what_cannot_be_mirrored_is_refused_with_a_reason",
            ),
        ),
        Row(
            "huge or impossible labels and annotations, and forgeries of our own",
            ("unit",),
            (
                "core/test_labels.py::test_annotations_are_copied_within_reason",
                "core/test_labels.py"
                "::test_many_annotations_are_cut_below_what_the_api_server_takes",
                "core/test_labels.py::test_a_label_that_no_api_server_takes_is_left_out",
                "core/test_labels.py::test_our_own_keys_are_always_computed",
            ),
        ),
        Row(
            "labels by which other tools know their own",
            ("unit",),
            ("core/test_labels.py::test_keys_that_mean_something_elsewhere_are_not_copied",),
        ),
        Row(
            "an export that is a mirror itself",
            ("unit", "integration"),
            (
                "core/test_export.py::test_what_cannot_be_mirrored_is_refused_with_a_reason",
                "apps/test_catalogue_hostile.py::test_a_link_that_leads_back_home_is_refused",
                "e2e/lab/test_three_clusters.py"
                "::test_a_mirror_that_somebody_labels_for_export_goes_no_further",
            ),
        ),
        Row(
            "endpoints at loopback, link-local, multicast and other addresses of no pod",
            ("unit",),
            (
                "core/test_slices.py::test_which_addresses_get_into_slices",
                "core/test_slices.py::test_no_address_outside_the_policy_gets_into_a_slice",
                "core/test_gateway.py::test_addresses_that_no_pod_has_are_never_served",
                "core/test_gateway.py"
                "::test_whatever_slices_say_only_admitted_addresses_of_theirs_are_served",
            ),
        ),
        Row(
            "a gateway at an address of this cluster's own",
            ("unit", "simulation"),
            (
                "apps/test_local.py::test_the_clusters_own_addresses_are_no_gateways",
                "apps/test_local.py"
                "::test_a_link_to_an_address_of_this_cluster_gets_mirrors_without_endpoints",
                "apps/test_local.py::test_a_name_that_turns_to_the_own_api_server_is_not_followed",
            ),
        ),
        Row(
            "names of pods that are none, or are there twice",
            ("unit", "simulation"),
            (
                "apps/test_catalogue_hostile.py::test_hostile_names_of_pods_make_no_mirror",
                "core/test_export.py"
                "::test_a_pod_that_is_listed_twice_is_ready_if_either_line_says_so",
                "core/test_headless.py"
                "::test_of_two_sets_with_a_pod_of_the_same_name_the_second_is_refused",
            ),
        ),
        Row(
            "a pod of a set and a Service of the same name",
            ("unit",),
            (
                "core/test_headless.py::test_a_pod_and_a_service_of_one_name_never_share_it",
                "core/test_headless.py"
                "::test_a_pod_is_never_led_to_a_service_that_is_not_its_mirror",
            ),
        ),
        Row(
            "an address that another pod has by now",
            ("simulation", "integration"),
            (
                "apps/test_calling.py"
                "::test_an_address_that_is_used_again_is_nobodys_until_its_former_pod_is_gone",
                "core/test_egress.py::test_an_address_that_two_accounts_claim_is_nobodys",
                "xds/test_crossing.py::test_pods_come_and_go_under_open_connections",
            ),
            "Behind the gateway a pod proves nothing, as behind kube-proxy: for as long as the "
            "API server has not told of a change, the gateway calls the address it knows.",
        ),
        Row(
            "a Service that becomes headless and back",
            ("simulation",),
            (
                "apps/test_hostile_targets.py"
                "::test_a_service_that_becomes_headless_and_back_has_its_mirror_replaced",
                "core/test_mirror.py::test_a_mirror_is_replaced_when_its_export_changes_type",
            ),
        ),
    ),
)

HERE = Part(
    "Objects of the source",
    (
        Row(
            "a namespace that ends, is missing, or is made again",
            ("unit", "simulation"),
            (
                "core/test_lifecycle.py"
                "::test_nothing_is_written_into_a_namespace_that_is_being_deleted",
                "apps/test_hostile_targets.py"
                "::test_a_namespace_that_is_deleted_and_made_again_gets_its_mirrors_back",
                "apps/test_mirroring.py"
                "::test_a_missing_namespace_is_reported_and_its_mirrors_come_with_it",
            ),
        ),
        Row(
            "a mirror that a user edits, or makes his own",
            ("unit", "simulation"),
            (
                "core/test_mirror.py::test_what_a_user_edits_on_a_mirror_is_repaired_in_one_write",
                "core/test_mirror.py::test_a_mirror_that_a_user_has_made_their_own_is_not_seized",
                "core/test_mirror.py"
                "::test_a_mirror_that_somebody_holds_with_a_finalizer_is_waited_for",
                "apps/test_mirroring.py::test_drift_is_repaired_and_what_is_not_ours_is_left_alone",
            ),
        ),
        Row(
            "a mirror or a slice that a user deletes",
            ("unit", "simulation"),
            (
                "core/test_mirror.py::test_what_a_user_deletes_comes_back",
                "core/test_plan_properties.py::test_whatever_a_user_does_to_what_is_ours_is_undone",
            ),
        ),
        Row(
            "a selector on a mirror, to capture its calls",
            ("unit",),
            (
                "core/test_mirror.py"
                "::test_what_a_user_edits_on_a_mirror_is_repaired_in_one_write"
                "[a selector, to capture calls]",
            ),
        ),
        Row(
            "a Service of a tenant that claims to be a mirror",
            ("unit", "integration"),
            (
                "core/test_egress.py::test_what_is_not_ours_to_carry_is_left_alone",
                "core/test_egress.py"
                "::test_a_slice_for_something_else_than_the_mirror_stands_for_says_nothing",
                "xds/test_refusals.py::test_a_request_is_refused_and_counted",
                "dataplane/test_limits.py::test_a_stolen_certificate_leads_nowhere_else",
            ),
        ),
    ),
)

PARTS = (EXPORTED, HERE)
