-- The tables of wordpress as far as its questions need them, with rows that are made up.
ALTER DATABASE COLLATE utf8mb4_unicode_520_ci;
CREATE TABLE wp_options (option_id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, option_name varchar(191) NOT NULL DEFAULT '',
	option_value longtext NOT NULL, autoload varchar(20) NOT NULL DEFAULT 'yes', UNIQUE KEY option_name (option_name),
	KEY autoload (autoload));
CREATE TABLE wp_users (ID bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, user_login varchar(60) NOT NULL DEFAULT '',
	user_nicename varchar(50) NOT NULL DEFAULT '', user_email varchar(100) NOT NULL DEFAULT '',
	display_name varchar(250) NOT NULL DEFAULT '', KEY user_login_key (user_login), KEY user_nicename (user_nicename),
	KEY user_email (user_email));
CREATE TABLE wp_usermeta (umeta_id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id bigint unsigned NOT NULL DEFAULT 0,
	meta_key varchar(255), meta_value longtext, KEY user_id (user_id), KEY meta_key (meta_key(191)));
CREATE TABLE wp_posts (ID bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, post_author bigint unsigned NOT NULL DEFAULT 0,
	post_date datetime NOT NULL DEFAULT '0000-00-00 00:00:00', post_date_gmt datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
	post_content longtext NOT NULL, post_title text NOT NULL, post_status varchar(20) NOT NULL DEFAULT 'publish',
	post_name varchar(200) NOT NULL DEFAULT '', post_parent bigint unsigned NOT NULL DEFAULT 0, menu_order int NOT NULL DEFAULT 0,
	post_type varchar(20) NOT NULL DEFAULT 'post', comment_count bigint NOT NULL DEFAULT 0, KEY post_name (post_name(191)),
	KEY type_status_date (post_type, post_status, post_date, ID), KEY post_parent (post_parent), KEY post_author (post_author));
CREATE TABLE wp_postmeta (meta_id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, post_id bigint unsigned NOT NULL DEFAULT 0,
	meta_key varchar(255), meta_value longtext, KEY post_id (post_id), KEY meta_key (meta_key(191)));
CREATE TABLE wp_comments (comment_ID bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
	comment_post_ID bigint unsigned NOT NULL DEFAULT 0, comment_author tinytext NOT NULL,
	comment_date_gmt datetime NOT NULL DEFAULT '0000-00-00 00:00:00', comment_content text NOT NULL,
	comment_approved varchar(20) NOT NULL DEFAULT '1', comment_parent bigint unsigned NOT NULL DEFAULT 0,
	KEY comment_post_ID (comment_post_ID), KEY comment_approved_date_gmt (comment_approved, comment_date_gmt),
	KEY comment_date_gmt (comment_date_gmt), KEY comment_parent (comment_parent));
CREATE TABLE wp_terms (term_id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(200) NOT NULL DEFAULT '',
	slug varchar(200) NOT NULL DEFAULT '', KEY slug (slug(191)), KEY name (name(191)));
CREATE TABLE wp_term_taxonomy (term_taxonomy_id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
	term_id bigint unsigned NOT NULL DEFAULT 0, taxonomy varchar(32) NOT NULL DEFAULT '', count bigint NOT NULL DEFAULT 0,
	UNIQUE KEY term_id_taxonomy (term_id, taxonomy), KEY taxonomy (taxonomy));
CREATE TABLE wp_term_relationships (object_id bigint unsigned NOT NULL DEFAULT 0, term_taxonomy_id bigint unsigned NOT NULL DEFAULT 0,
	term_order int NOT NULL DEFAULT 0, PRIMARY KEY (object_id, term_taxonomy_id), KEY term_taxonomy_id (term_taxonomy_id));
CREATE TABLE beat (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO beat VALUES (1, 0);
SET max_recursive_iterations = 100000;
CREATE TABLE seq AS WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM x WHERE n < 12000) SELECT n FROM x;
INSERT INTO wp_options (option_name, option_value, autoload) SELECT concat('opt_', n), n, IF(n % 3 = 0, 'on', 'off') FROM seq
	WHERE n <= 300;
INSERT INTO wp_users (user_login, user_nicename, user_email, display_name)
	SELECT concat('Writer', n), concat('writer-', n), concat('Writer', n, '@example.com'), concat('Writer ', n) FROM seq WHERE n <= 50;
INSERT INTO wp_usermeta (user_id, meta_key, meta_value) SELECT 1 + n % 50, concat('k', n % 7), n FROM seq WHERE n <= 700;
INSERT INTO wp_posts (post_author, post_date, post_content, post_title, post_name, post_parent, post_type, post_status)
	SELECT 1 + n % 50, '2025-01-01' + INTERVAL n MINUTE, repeat('lorem ipsum ', 9), concat('Post ', n),
		IF(n % 100 = 0, concat('beitrag-ü-', n), concat('post-', n)), IF(n % 10 = 0, 2 + n % 40, 0), IF(n % 10 = 0, 'page', 'post'),
		IF(n % 7 = 0, 'draft', 'publish') FROM seq;
INSERT INTO wp_postmeta (post_id, meta_key, meta_value) SELECT n, '_thumbnail_id', n FROM seq;
INSERT INTO wp_comments (comment_post_ID, comment_author, comment_date_gmt, comment_content, comment_approved)
	SELECT 1 + n % 900, concat('Reader ', n), '2025-02-01' + INTERVAL n MINUTE, concat('Comment ', n), IF(n % 9 = 0, 'spam', '1') FROM seq;
INSERT INTO wp_terms (name, slug) SELECT concat('Cat ', n), concat('cat-', n) FROM seq WHERE n <= 40;
INSERT INTO wp_term_taxonomy (term_id, taxonomy) SELECT n, IF(n <= 20, 'category', 'post_tag') FROM seq WHERE n <= 40;
INSERT INTO wp_term_relationships (object_id, term_taxonomy_id) SELECT n, 1 + n % 40 FROM seq;
DROP TABLE seq;
