BEGIN TRANSACTION;
CREATE TABLE "totals" ("account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_n" bigint CHECK (typeof("previous_n") IN ('integer', 'null') AND "previous_n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_total" bigint CHECK (typeof("previous_total") IN ('integer', 'null') AND "previous_total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_txid" bigint CHECK (typeof("previous_txid") IN ('integer', 'null') AND "previous_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "txid" bigint NOT NULL CHECK (typeof("txid") IN ('integer', 'null') AND "txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "totals" VALUES('a0',3,12,2,5,2,3);
INSERT INTO "totals" VALUES('a7',3,23,1,2,1,3);
INSERT INTO "totals" VALUES('a3',4,32,2,9,2,3);
INSERT INTO "totals" VALUES('a10',4,36,3,26,3,4);
INSERT INTO "totals" VALUES('a1',4,37,2,5,2,4);
INSERT INTO "totals" VALUES('a8',2,7,1,2,1,2);
INSERT INTO "totals" VALUES('a4',2,9,1,3,1,2);
INSERT INTO "totals" VALUES('a2',5,45,3,16,3,4);
INSERT INTO "totals" VALUES('a9',4,37,2,9,2,4);
INSERT INTO "totals" VALUES('a5',4,41,2,11,2,4);
INSERT INTO "totals" VALUES('a6',4,40,3,29,3,4);
CREATE TABLE trident_applied (
            topology text NOT NULL, state text NOT NULL, table_name text NOT NULL UNIQUE,
            incarnation text NOT NULL, epoch bigint NOT NULL, token text NOT NULL,
            txid bigint NOT NULL, attempt bigint NOT NULL, birth_txid bigint NOT NULL,
            PRIMARY KEY (topology, state));
INSERT INTO "trident_applied" VALUES('payments','totals','totals','85795cb54f6abb88',1,'415bbe1619d10bf4a268f80eb04902f0',4,4,0);
CREATE TABLE "trident_staging_totals" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "trident_staging_totals" VALUES(1,1,'fa0abbbe3c2f46f68c4ffff7bb23d4da',5302107601640042228,'a0',1,1);
INSERT INTO "trident_staging_totals" VALUES(1,1,'fa0abbbe3c2f46f68c4ffff7bb23d4da',6180142689876909475,'a7',1,2);
INSERT INTO "trident_staging_totals" VALUES(1,1,'fa0abbbe3c2f46f68c4ffff7bb23d4da',-1701086660114127737,'a3',1,3);
INSERT INTO "trident_staging_totals" VALUES(1,1,'fa0abbbe3c2f46f68c4ffff7bb23d4da',969065840175482001,'a10',1,4);
INSERT INTO "trident_staging_totals" VALUES(1,1,'fa0abbbe3c2f46f68c4ffff7bb23d4da',-7709078837450864790,'a1',1,1);
INSERT INTO "trident_staging_totals" VALUES(1,1,'fa0abbbe3c2f46f68c4ffff7bb23d4da',-2109775595114306065,'a8',1,2);
INSERT INTO "trident_staging_totals" VALUES(1,1,'fa0abbbe3c2f46f68c4ffff7bb23d4da',4919358289655647551,'a4',1,3);
INSERT INTO "trident_staging_totals" VALUES(1,1,'fa0abbbe3c2f46f68c4ffff7bb23d4da',-6977640016794332510,'a2',1,1);
INSERT INTO "trident_staging_totals" VALUES(1,1,'fa0abbbe3c2f46f68c4ffff7bb23d4da',363819105464657904,'a9',1,2);
INSERT INTO "trident_staging_totals" VALUES(1,1,'fa0abbbe3c2f46f68c4ffff7bb23d4da',-2397373143948393412,'a5',1,3);
INSERT INTO "trident_staging_totals" VALUES(2,2,'190176a699f045f590d1790780f0c1e1',1575418874904765016,'a6',1,5);
INSERT INTO "trident_staging_totals" VALUES(2,2,'190176a699f045f590d1790780f0c1e1',-8475653161006476505,'a2',1,6);
INSERT INTO "trident_staging_totals" VALUES(2,2,'190176a699f045f590d1790780f0c1e1',4421818289764232385,'a9',1,7);
INSERT INTO "trident_staging_totals" VALUES(2,2,'190176a699f045f590d1790780f0c1e1',-6573855627968306060,'a5',1,8);
INSERT INTO "trident_staging_totals" VALUES(2,2,'190176a699f045f590d1790780f0c1e1',-2033211282317585532,'a0',1,4);
INSERT INTO "trident_staging_totals" VALUES(2,2,'190176a699f045f590d1790780f0c1e1',8249181345485754436,'a3',1,6);
INSERT INTO "trident_staging_totals" VALUES(2,2,'190176a699f045f590d1790780f0c1e1',9143998365360897250,'a1',1,4);
INSERT INTO "trident_staging_totals" VALUES(2,2,'190176a699f045f590d1790780f0c1e1',-228425003561336803,'a8',1,5);
INSERT INTO "trident_staging_totals" VALUES(2,2,'190176a699f045f590d1790780f0c1e1',2797382642094953141,'a4',1,6);
INSERT INTO "trident_staging_totals" VALUES(3,3,'c04a22be63b543ef83a05a1ce886424b',-2296184027804586978,'a7',2,21);
INSERT INTO "trident_staging_totals" VALUES(3,3,'c04a22be63b543ef83a05a1ce886424b',-6788740524847255338,'a3',2,23);
INSERT INTO "trident_staging_totals" VALUES(3,3,'c04a22be63b543ef83a05a1ce886424b',6823871654627901173,'a10',2,22);
INSERT INTO "trident_staging_totals" VALUES(3,3,'c04a22be63b543ef83a05a1ce886424b',-1723655647917490191,'a6',2,24);
INSERT INTO "trident_staging_totals" VALUES(3,3,'c04a22be63b543ef83a05a1ce886424b',8231576154275673269,'a2',1,9);
INSERT INTO "trident_staging_totals" VALUES(3,3,'c04a22be63b543ef83a05a1ce886424b',-6164767593795676157,'a0',1,7);
INSERT INTO "trident_staging_totals" VALUES(4,4,'ae827d7fc30846c2bf0957506b5df489',-326269097148808295,'a2',2,29);
INSERT INTO "trident_staging_totals" VALUES(4,4,'ae827d7fc30846c2bf0957506b5df489',-6088719062507765744,'a9',2,28);
INSERT INTO "trident_staging_totals" VALUES(4,4,'ae827d7fc30846c2bf0957506b5df489',2744678819612172533,'a5',2,30);
INSERT INTO "trident_staging_totals" VALUES(4,4,'ae827d7fc30846c2bf0957506b5df489',-1879505125623028574,'a1',2,32);
INSERT INTO "trident_staging_totals" VALUES(4,4,'ae827d7fc30846c2bf0957506b5df489',5341594133464340125,'a10',1,10);
INSERT INTO "trident_staging_totals" VALUES(4,4,'ae827d7fc30846c2bf0957506b5df489',-4979749815507172334,'a6',1,11);
INSERT INTO "trident_staging_totals" VALUES(5,5,'2a4f55897b8b45e3950bb1b2b2974dbd',-2475364845245264235,'a8',2,34);
INSERT INTO "trident_staging_totals" VALUES(5,5,'2a4f55897b8b45e3950bb1b2b2974dbd',2226832585465704228,'a4',2,36);
INSERT INTO "trident_staging_totals" VALUES(5,5,'2a4f55897b8b45e3950bb1b2b2974dbd',-4477704901474072550,'a0',2,38);
INSERT INTO "trident_staging_totals" VALUES(5,5,'2a4f55897b8b45e3950bb1b2b2974dbd',-7248778698839384950,'a7',1,24);
INSERT INTO "trident_staging_totals" VALUES(5,5,'2a4f55897b8b45e3950bb1b2b2974dbd',-5771373010554713413,'a9',1,13);
INSERT INTO "trident_staging_totals" VALUES(5,5,'2a4f55897b8b45e3950bb1b2b2974dbd',525914220006174286,'a5',1,14);
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
INSERT INTO "trident_state_fence" VALUES('payments',1,'415bbe1619d10bf4a268f80eb04902f0');
CREATE TABLE trident_state_schema (
	version BIGINT NOT NULL, 
	applied_at VARCHAR NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "trident_state_schema" VALUES(1,'2026-11-21T20:54:36.591+00:00');
CREATE UNIQUE INDEX "trident_key_totals" ON "totals" ("account");
CREATE UNIQUE INDEX "trident_null_key_totals" ON "totals" (ifnull("account", 0), "account" IS NULL) WHERE "account" IS NULL;
CREATE INDEX "trident_by_txid_trident_staging_totals" ON "trident_staging_totals" (trident_txid);
COMMIT;
