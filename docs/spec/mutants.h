/* What can be broken, each a rule that is left out: spec: the scenario in which that is refuted.
 * make spec tries them all.
 */
#define dirty_is_storable 1 /* documents: one key */
#define settled_is_looked_at_last 2 /* documents: one key */
#define stores_what_was_not_storable 3 /* documents: one key */
#define stores_what_is_invalidated 4 /* documents: one key */
#define mark_leaves_loads_alone 5 /* documents: one key */
#define mark_leaves_the_copy 6 /* documents: one key */
#define nothing_is_pending 7 /* documents: one key */
#define joins_an_invalidated_load 8 /* documents: one key */
#define joined_after_it_is_settled 9 /* documents: one key */
#define position_is_read_last 10 /* documents: whole table */
#define position_is_published_first 11 /* documents: one key */
#define claims_what_is_pending 12 /* documents: one key */
#define claims_one_too_many 13 /* documents: one key */
#define takes_all_marks_away 14 /* documents: one key, two changes */
#define shows_what_is_applied 15 /* documents: one key */
#define any_fence_will_do 16 /* documents: fence, one behind */
#define joins_after_a_fence 17 /* documents: fence, two readers */
#define the_last_is_taken_for_the_highest 18 /* documents: two documents, one behind */
#define one_document_is_forgotten 19 /* documents: two documents */
#define storable_while_all_is_unsettled 20 /* documents: whole table */
#define stores_an_old_stamp 21 /* documents: whole table */
#define joins_an_old_stamp 22 /* documents: whole table */
#define valid_any_generation 23 /* documents: whole table */
#define all_is_not_held 24 /* documents: whole table */
#define joined_after_all_is_settled 25 /* documents: whole table */
#define generation_is_read_last 26 /* documents: whole table */
#define unsettled_after_the_new_generation 27 /* documents: whole table */
#define a_token_joins_what_is_unsettled 28 /* documents: token */
#define joins_what_was_sent 29 /* documents: bypass */
#define sent_is_not_noted 30 /* documents: bypass */
#define joins_a_superseded_load 31 /* documents: two formats, one behind */
#define a_joined_load_does_not_know 32 /* documents: copy found late */
#define a_reader_of_the_source_gets_the_copy 33 /* documents: copy found late */
#define an_answer_leaves_loads_alone 34 /* documents: two formats */
#define copies_of_other_states_stay 35 /* documents: two formats */
#define stores_another_state 36 /* documents: two formats */
#define stores_other_formats 37 /* documents: two formats */
#define copies_of_other_formats_stay 38 /* documents: two formats */
#define supersedes_one_format 39 /* documents: two formats */
#define finds_an_older_copy 40 /* documents: copy found, another answered */
#define invalidates_one_format 41 /* documents: two formats */
#define a_superseded_load_is_out_of_reach 42 /* documents: two formats, one behind */
#define invalidates_the_last_only 43 /* documents: two formats, one behind */
#define joined_after_the_release 44 /* documents: written through, two readers */
#define nothing_supersedes_what_is_kept 45 /* documents: write kept before another, the source is asked */
#define what_is_kept_is_out_of_reach 46 /* documents: write kept before another */
#define keeps_what_is_invalidated 47 /* documents: write kept before another */
#define keeps_another_state 48 /* documents: write kept before another, the source is asked */
#define keeps_an_old_stamp 49 /* documents: write kept before a whole table */
#define a_gap_is_not_noticed 50 /* documents: feed lost */
#define valid_any_epoch 51 /* documents: feed lost */
#define begins_without_a_mark 52 /* documents: feed begins after a log */
#define marked_after_the_epoch 53 /* documents: feed begins after a log */
#define trusted_at_once 54 /* documents: killed */
#define acknowledged_when_applied 55 /* documents: killed */
#define acknowledged_before_it_is_on_disk 56 /* documents: killed */
#define goes_on_at_the_end 57 /* documents: killed */
#define recalled_without_its_lease 58 /* documents: copy recalled */
#define trusted_after_a_gap 59 /* documents: killed, the feed begins anew */
#define the_disk_is_not_told 60 /* documents: killed, whole table */
#define recalled_whatever_others_got 61 /* documents: copy recalled after another format */
#define tags_are_not_moved 62 /* lists: a row leaves */
#define bulk_moves_only_the_table 63 /* lists: bulk */
#define bulk_is_not_looked_at 64 /* lists: bulk */
#define dirty_is_no_miss 65 /* lists: a row leaves */
#define moved_is_no_miss 66 /* lists: a row leaves, notify feed */
#define settling_does_not_stamp 67 /* lists: a row leaves */
#define published_before_the_counters 68 /* lists: a row leaves */
#define the_clock_is_read_after_the_source 69 /* lists: a row leaves */
#define the_tables_version_comes_first 70 /* lists: a row leaves */
#define the_sum_is_taken_after_the_walk 71 /* lists: a row leaves */
#define the_sum_is_set_by_the_load 72 /* lists: a row leaves */
#define all_is_not_in_the_sum 73 /* lists: feed begins */
#define the_clock_moves_before 74 /* lists: token of a list */
#define used_at_once 75 /* lists: a tag is registered */
#define its_state_is_read_when_the_load_ends 76 /* lists: a tag is registered */
#define pending_is_not_waited_for 77 /* lists: a tag is registered */
#define removed_without_a_touch 78 /* lists: a tag is removed */
#define counts_until_it_is_removed 79 /* lists: a tag is removed */
#define a_moved_list_is_joined 80 /* lists: a row leaves */
#define a_token_joins_an_unsettled_list 81 /* lists: token of a list */
#define a_token_is_told_of_what_is_pending 82 /* lists: a row leaves */
#define now_joins_a_list_that_was_sent 83 /* lists: no-cache */
#define other_lists_stay 84 /* lists: no-cache */
#define lists_are_not_held 85 /* lists: a list is written through */
#define a_beginning_without_a_mark 86 /* lists: feed begins */
#define the_epoch_before_its_counter 87 /* lists: feed begins */
#define goes_on_behind_a_gap 88 /* documents: feed comes back */
