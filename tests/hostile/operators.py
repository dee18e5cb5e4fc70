"""Our own processes: what they show, what they are given, what is typed."""

from tests.hostile.row import Part, Row

OPERATOR = Part(
    "Controllers, logs, commands",
    (
        Row(
            "secrets, looked for in everything that is shown",
            ("simulation", "command line"),
            (
                "apps/test_mirroring.py::test_secrets_reach_neither_logs_nor_status",
                "apps/test_signing.py::test_no_secret_is_in_anything_that_is_shown",
                "apps/test_front.py::test_nonsense_is_refused_and_repeated_nowhere",
                "kube/test_client.py::test_a_token_that_a_server_echoes_is_not_repeated",
                "kube/test_exec.py::test_a_plugin_that_fails_is_named_without_its_output",
                "apps/rotation/test_driving.py::test_no_key_is_said_or_logged",
                "cli/test_main.py::test_said_twice_v_shows_every_request_and_no_credential",
            ),
        ),
        Row(
            "two controllers of one cluster",
            ("simulation", "integration"),
            (
                "apps/test_mirroring.py::test_two_replicas_write_as_one",
                "kube/test_election.py::test_no_two_candidates_ever_work_at_the_same_time",
                "contract/test_election.py"
                "::test_only_one_of_two_creates_and_only_one_of_two_replaces",
            ),
        ),
        Row(
            "a leader that is stopped, or killed at any moment",
            ("simulation", "integration"),
            (
                "e2e/test_paused_leader.py"
                "::test_a_leader_that_was_stopped_for_longer_than_its_lease_ends_and_writes"
                "_nothing",
                "apps/test_mirroring.py::test_a_crash_at_any_moment_is_followed_by_the_same_end",
                "apps/test_real.py::test_a_killed_controller_comes_back_and_writes_nothing",
            ),
        ),
        Row(
            "no room on the disk, a folder that cannot be written, few files, little memory",
            ("unit", "integration", "command line"),
            (
                "apps/proxy/test_files.py"
                "::test_a_full_disk_leaves_the_last_key_and_no_half_of_another",
                "apps/proxy/test_files.py::test_a_folder_that_nobody_can_write_to_is_named",
                "apps/proxy/test_keeper.py"
                "::test_a_directory_that_cannot_be_written_is_named_and_tried_again",
                "cli/trusting/test_places.py::test_on_a_full_disk_an_anchor_is_not_half_made",
                "e2e/test_small_limits.py::test_little_is_enough_for_a_link_with_its_mirrors",
                "e2e/test_small_limits.py"
                "::test_links_that_find_no_file_to_open_wait_and_the_others_go_on",
            ),
        ),
        Row(
            "kinds that are missing, older or newer; a status that cannot be written",
            ("simulation", "command line"),
            (
                "apps/test_definitions.py"
                "::test_a_controller_waits_for_its_kinds_and_begins_when_they_come",
                "apps/test_definitions.py::test_kinds_that_are_taken_away_take_no_mirror_along",
                "apps/test_definitions.py"
                "::test_a_definition_that_knows_less_costs_no_writes_for_what_it_forgets",
                "apps/test_definitions.py"
                "::test_a_link_with_fields_of_a_later_version_is_read_for_what_we_know",
                "apps/test_definitions.py"
                "::test_a_status_that_cannot_be_written_is_tried_again_and_holds_nothing_up",
                "cli/checking/test_examining.py::test_kinds_that_are_missing",
            ),
        ),
        Row(
            "a wrong context, half a write, Ctrl-C, the same command twice",
            ("command line",),
            (
                "cli/installing/test_install.py::test_a_wrong_context_and_a_cluster_that_is_away",
                "cli/joining/test_connect.py"
                "::test_if_the_second_write_fails_the_first_is_told_and_the_same_goes_on",
                "cli/joining/test_connect.py"
                "::test_ctrl_c_says_what_was_done_and_that_the_same_goes_on",
                "cli/joining/test_link.py::test_it_can_be_applied_at_once_and_twice_is_once",
                "cli/installing/test_bringing.py::test_one_that_was_interrupted_goes_on",
            ),
        ),
        Row(
            "a umask that would let others read a key",
            ("unit", "command line"),
            (
                "cli/trusting/test_places.py"
                "::test_what_holds_a_key_is_its_owners_alone_whatever_the_umask",
                "apps/proxy/test_files.py::test_a_key_is_its_owners_alone_whatever_the_umask",
            ),
        ),
    ),
)

PARTS = (OPERATOR,)
