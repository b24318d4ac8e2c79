-- MySQL dump 10.19  Distrib 10.3.39-MariaDB, for debian-linux-gnu (x86_64)
/*!40101 SET NAMES utf8mb4 */;

CREATE TABLE `yourls_log` (
  `click_id` int(11) NOT NULL AUTO_INCREMENT,
  `shorturl` varchar(100) NOT NULL
);
INSERT INTO `yourls_log` VALUES (1,'ozh');
INSERT INTO `yourls_options` VALUES (1,'version','1.9.2; (x)');
CREATE TABLE `yourls_url` (
  `keyword` varchar(100) COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `url` text COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (`keyword`)
);
LOCK TABLES `yourls_url` WRITE;
INSERT INTO `yourls_url` VALUES ('ozh','http://ozh.org/','Ozh\'s \"blog\"','2009-05-11 09:41:13','127.0.0.1',17),('2','https://example.com/?a=1;b=(2)',NULL,'2010-01-01 00:00:00','::1',0);
INSERT INTO `yourls_url` (`url`, `keyword`, `title`, `timestamp`, `ip`, `clicks`) VALUES
(0x68747470733a2f2f6578616d706c652e6f72672f, 'hex', 'It''s', '2014-03-08 00:38:44', '127.0.0.1', '3');
UNLOCK TABLES;
