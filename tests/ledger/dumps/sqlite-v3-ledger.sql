BEGIN TRANSACTION;
CREATE TABLE "balances" ("account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_n" bigint CHECK (typeof("previous_n") IN ('integer', 'null') AND "previous_n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_total" bigint CHECK (typeof("previous_total") IN ('integer', 'null') AND "previous_total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_txid" bigint CHECK (typeof("previous_txid") IN ('integer', 'null') AND "previous_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "txid" bigint NOT NULL CHECK (typeof("txid") IN ('integer', 'null') AND "txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "balances" VALUES('a0',5,50,3,12,3,5);
INSERT INTO "balances" VALUES('a7',4,47,3,23,3,5);
INSERT INTO "balances" VALUES('a3',4,32,2,9,2,3);
INSERT INTO "balances" VALUES('a10',4,36,3,26,3,4);
INSERT INTO "balances" VALUES('a1',4,37,2,5,2,4);
INSERT INTO "balances" VALUES('a8',4,41,2,7,2,5);
INSERT INTO "balances" VALUES('a4',4,45,2,9,2,5);
INSERT INTO "balances" VALUES('a2',5,45,3,16,3,4);
INSERT INTO "balances" VALUES('a9',5,50,4,37,4,5);
INSERT INTO "balances" VALUES('a5',5,55,4,41,4,5);
INSERT INTO "balances" VALUES('a6',4,40,3,29,3,4);
CREATE TABLE trident_applied (
            topology text NOT NULL, state text NOT NULL, table_name text NOT NULL UNIQUE,
            incarnation text NOT NULL, epoch bigint NOT NULL, token text NOT NULL,
            txid bigint NOT NULL, attempt bigint NOT NULL, birth_txid bigint NOT NULL,
            PRIMARY KEY (topology, state));
INSERT INTO "trident_applied" VALUES('payments','balances','balances','85795cb54f6abb88',1,'415bbe1619d10bf4a268f80eb04902f0',5,5,0);
CREATE TABLE trident_commit (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, records BIGINT NOT NULL, dead_letters BIGINT NOT NULL,
        keys BIGINT NOT NULL, plan_ms BIGINT NOT NULL, process_ms BIGINT NOT NULL, commit_ms BIGINT NOT NULL,
        done_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_commit" VALUES('payments','85795cb54f6abb88',1,1,1,1,10,0,20,34,839,100,'2026-11-21T20:54:37.638+00:00');
INSERT INTO "trident_commit" VALUES('payments','85795cb54f6abb88',2,2,1,1,10,1,18,27,27,23,'2026-11-21T20:54:37.741+00:00');
INSERT INTO "trident_commit" VALUES('payments','85795cb54f6abb88',3,3,1,1,10,0,12,27,7,10,'2026-11-21T20:54:37.789+00:00');
INSERT INTO "trident_commit" VALUES('payments','85795cb54f6abb88',4,4,1,1,10,0,12,8,3,5,'2026-11-21T20:54:37.808+00:00');
CREATE TABLE trident_dead_letter (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, spout VARCHAR NOT NULL,
        topic VARCHAR NOT NULL, partition BIGINT NOT NULL, record_offset BIGINT NOT NULL, attempt BIGINT NOT NULL,
        record_timestamp BIGINT, reason TEXT NOT NULL, record_key BLOB, record_value BLOB,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset));
INSERT INTO "trident_dead_letter" VALUES('payments','85795cb54f6abb88',2,'s','t',1,4,2,NULL,'unreadable',NULL,X'7B','2026-11-21T20:54:37.719+00:00');
INSERT INTO "trident_dead_letter" VALUES('payments','85795cb54f6abb88',5,'s','t',2,14,5,NULL,'unreadable',NULL,X'7B','2026-11-21T20:54:37.814+00:00');
CREATE TABLE trident_decision (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, decided_by TEXT NOT NULL,
        decided_at VARCHAR NOT NULL, finished_at VARCHAR,
        PRIMARY KEY (topology, epoch));
CREATE TABLE trident_diverted (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, state VARCHAR NOT NULL,
        number BIGINT NOT NULL, attempt BIGINT NOT NULL, staged_row TEXT NOT NULL, diverted_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, state, number));
CREATE TABLE trident_fence (
        topology VARCHAR NOT NULL, number BIGINT NOT NULL, token TEXT NOT NULL, holder TEXT NOT NULL,
        session_pid BIGINT, session_host TEXT, session_started DOUBLE, raised_at VARCHAR NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_fence" VALUES('payments',1,'415bbe1619d10bf4a268f80eb04902f0','host-a:4293',4293,'host-a',1795294472.65,'2026-11-21T20:54:36.496+00:00');
CREATE TABLE trident_heartbeat (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, beat_at VARCHAR NOT NULL, lease_seconds DOUBLE NOT NULL,
        released BOOLEAN NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_heartbeat" VALUES('payments',1,'2026-11-21T20:54:37.186+00:00',2.0,1);
CREATE TABLE trident_incarnation (
        topology VARCHAR NOT NULL, id VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, created_at VARCHAR NOT NULL,
        reason TEXT NOT NULL, starts TEXT, status TEXT NOT NULL,
        PRIMARY KEY (topology, id));
INSERT INTO "trident_incarnation" VALUES('payments','85795cb54f6abb88',0,'2026-11-21T20:54:36.507+00:00','first start','[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0}]','open');
CREATE TABLE trident_loss (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, spout VARCHAR NOT NULL, topic VARCHAR NOT NULL,
        partition BIGINT NOT NULL, start_offset BIGINT NOT NULL, stop_offset BIGINT NOT NULL, incarnation TEXT NOT NULL,
        txid BIGINT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, recorded_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, attempt, spout, topic, partition, start_offset));
INSERT INTO "trident_loss" VALUES('payments',3,'s','t',0,8,12,'85795cb54f6abb88',3,'done','offsets were gone before they could be read','2026-11-21T20:54:37.746+00:00');
CREATE TABLE trident_pin (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        epoch BIGINT NOT NULL, plan TEXT NOT NULL, manifests TEXT NOT NULL, states TEXT NOT NULL,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_pin" VALUES('payments','85795cb54f6abb88',1,1,1,'{"txid":1,"attempt":1,"tries":1,"predecessor":0,"batch_time":"2026-11-21T20:54:36.663673Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}],"losses":[],"timers":[],"received":[]}','[["s",{"edge":213734977555266386,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":5691922845837244566,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":956008452989990892,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":10,"writes":[{"state":"balances","write_id":"61f2e6c27d5845fcab7621f39ee70982","digest":{"count":10,"low":15926603609,"high":23976937718,"xor":4979200953722746693}}]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"fa0abbbe3c2f46f68c4ffff7bb23d4da","digest":{"count":10,"low":20533309205,"high":20738984370,"xor":-8204223790922691179}}]}]','2026-11-21T20:54:37.559+00:00');
INSERT INTO "trident_pin" VALUES('payments','85795cb54f6abb88',2,2,1,'{"txid":2,"attempt":2,"tries":1,"predecessor":1,"batch_time":"2026-11-21T20:54:37.662237Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}],"losses":[],"timers":[],"received":[]}','[["s",{"edge":6529336826584630525,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":1058770470982127562,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":9082824579410087806,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":9,"writes":[{"state":"balances","write_id":"fa4be21b9285425a8ed38948d296c098","digest":{"count":9,"low":19976146154,"high":25509343141,"xor":-1165208748568768012}}]},{"state":"totals","rows":9,"writes":[{"state":"totals","write_id":"190176a699f045f590d1790780f0c1e1","digest":{"count":9,"low":18898156080,"high":19246626347,"xor":3708355325883028544}}]}]','2026-11-21T20:54:37.718+00:00');
INSERT INTO "trident_pin" VALUES('payments','85795cb54f6abb88',3,3,1,'{"txid":3,"attempt":3,"tries":1,"predecessor":2,"batch_time":"2026-11-21T20:54:37.744219Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}],"losses":[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}],"timers":[],"received":[]}','[["s",{"edge":1376051949292782581,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":7263529303171827985,"id":{"topic":"t","partition":1},"position":9,"digest":{"count":3,"low":2485935014,"high":10742783727,"xor":-4470561495925423240},"size_bytes":30,"newest":null}],["s",{"edge":8342348711763244098,"id":{"topic":"t","partition":2},"position":9,"digest":{"count":3,"low":5087235535,"high":7737651774,"xor":4416186592842412565},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"e94ebc6e72af4a48b786378e8ccf3a37","digest":{"count":6,"low":13447240710,"high":14208615630,"xor":-9135757156687783746}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"c04a22be63b543ef83a05a1ce886424b","digest":{"count":6,"low":8251779218,"high":16733323294,"xor":3387535523026874746}}]}]','2026-11-21T20:54:37.780+00:00');
INSERT INTO "trident_pin" VALUES('payments','85795cb54f6abb88',4,4,1,'{"txid":4,"attempt":4,"tries":1,"predecessor":3,"batch_time":"2026-11-21T20:54:37.790725Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}],"losses":[],"timers":[],"received":[]}','[["s",{"edge":104979540616536109,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":7531489948591885394,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":3,"low":5509149607,"high":5826329423,"xor":-1319194361734820773},"size_bytes":30,"newest":null}],["s",{"edge":5101765258800966185,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":3,"low":8377343765,"high":4695263004,"xor":8836137819986319609},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"acd327cf32a248b7ad920473bc9f6c92","digest":{"count":6,"low":7462945066,"high":13344007169,"xor":-689042044872249770}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"ae827d7fc30846c2bf0957506b5df489","digest":{"count":6,"low":9670370287,"high":15971950753,"xor":7187889141541066065}}]}]','2026-11-21T20:54:37.803+00:00');
INSERT INTO "trident_pin" VALUES('payments','85795cb54f6abb88',5,5,1,'{"txid":5,"attempt":5,"tries":1,"predecessor":4,"batch_time":"2026-11-21T20:54:37.809123Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}],"losses":[],"timers":[],"received":[]}','[["s",{"edge":9202149303765681780,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":8664505068456448705,"id":{"topic":"t","partition":1},"position":15,"digest":{"count":3,"low":11050248779,"high":4864124197,"xor":-1872763135543339053},"size_bytes":30,"newest":null}],["s",{"edge":498662482734342154,"id":{"topic":"t","partition":2},"position":15,"digest":{"count":3,"low":7572195244,"high":8159084010,"xor":4230571151696431190},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"dfc4b505505044079464199bffa30159","digest":{"count":6,"low":12035742875,"high":14975199266,"xor":-5939873822235457471}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"2a4f55897b8b45e3950bb1b2b2974dbd","digest":{"count":6,"low":13168286566,"high":13170414984,"xor":3554957938568270292}}]}]','2026-11-21T20:54:37.814+00:00');
CREATE TABLE trident_plan (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, predecessor BIGINT NOT NULL, status TEXT NOT NULL,
        batch_time VARCHAR NOT NULL, created_at VARCHAR NOT NULL, ranges TEXT NOT NULL, losses TEXT NOT NULL, timers TEXT NOT NULL DEFAULT '[]', received TEXT NOT NULL DEFAULT '[]',
        PRIMARY KEY (topology, attempt));
INSERT INTO "trident_plan" VALUES('payments',1,'85795cb54f6abb88',1,1,1,0,'done','2026-11-21T20:54:36.663673+00:00','2026-11-21T20:54:36.666+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',2,'85795cb54f6abb88',2,1,1,1,'done','2026-11-21T20:54:37.662237+00:00','2026-11-21T20:54:37.663+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',3,'85795cb54f6abb88',3,1,1,2,'done','2026-11-21T20:54:37.744219+00:00','2026-11-21T20:54:37.745+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}]','[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',4,'85795cb54f6abb88',4,1,1,3,'done','2026-11-21T20:54:37.790725+00:00','2026-11-21T20:54:37.791+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}]','[]','[]','[]');
INSERT INTO "trident_plan" VALUES('payments',5,'85795cb54f6abb88',5,1,1,4,'live','2026-11-21T20:54:37.809123+00:00','2026-11-21T20:54:37.809+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}]','[]','[]','[]');
CREATE TABLE trident_progress (
        topology VARCHAR NOT NULL, incarnation TEXT NOT NULL, done BIGINT NOT NULL, done_attempt BIGINT NOT NULL,
        pinned BIGINT, pinned_attempt BIGINT, last_txid BIGINT NOT NULL, last_attempt BIGINT NOT NULL, reset_to TEXT, undoing BIGINT, held BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (topology));
INSERT INTO "trident_progress" VALUES('payments','85795cb54f6abb88',4,4,5,5,5,5,NULL,NULL,0);
CREATE TABLE trident_refusal (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
        refused_at VARCHAR NOT NULL, settled_by TEXT, settled_at VARCHAR,
        PRIMARY KEY (topology, epoch));
CREATE TABLE trident_reset (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, states TEXT NOT NULL,
        start TEXT, epoch BIGINT NOT NULL, decided_at VARCHAR NOT NULL, finished_at VARCHAR,
        PRIMARY KEY (topology, incarnation));
CREATE TABLE trident_schema (
	version BIGINT NOT NULL, 
	applied_at VARCHAR NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "trident_schema" VALUES(1,'2026-11-21T20:54:36.419+00:00');
INSERT INTO "trident_schema" VALUES(2,'2026-11-21T20:54:36.422+00:00');
INSERT INTO "trident_schema" VALUES(3,'2026-11-21T20:54:36.422+00:00');
CREATE TABLE "trident_staging_balances" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "trident_staging_balances" VALUES(1,1,'61f2e6c27d5845fcab7621f39ee70982',7500407182092691728,'a0',1,1);
INSERT INTO "trident_staging_balances" VALUES(1,1,'61f2e6c27d5845fcab7621f39ee70982',-209885512492820148,'a7',1,2);
INSERT INTO "trident_staging_balances" VALUES(1,1,'61f2e6c27d5845fcab7621f39ee70982',2658901231307014221,'a3',1,3);
INSERT INTO "trident_staging_balances" VALUES(1,1,'61f2e6c27d5845fcab7621f39ee70982',-1462052724056353922,'a10',1,4);
INSERT INTO "trident_staging_balances" VALUES(1,1,'61f2e6c27d5845fcab7621f39ee70982',74205675628256278,'a1',1,1);
INSERT INTO "trident_staging_balances" VALUES(1,1,'61f2e6c27d5845fcab7621f39ee70982',-6675577645241006964,'a8',1,2);
INSERT INTO "trident_staging_balances" VALUES(1,1,'61f2e6c27d5845fcab7621f39ee70982',-5859519933850930205,'a4',1,3);
INSERT INTO "trident_staging_balances" VALUES(1,1,'61f2e6c27d5845fcab7621f39ee70982',6707690803439566473,'a2',1,1);
INSERT INTO "trident_staging_balances" VALUES(1,1,'61f2e6c27d5845fcab7621f39ee70982',-7437175076480080905,'a9',1,2);
INSERT INTO "trident_staging_balances" VALUES(1,1,'61f2e6c27d5845fcab7621f39ee70982',-2997295069638172115,'a5',1,3);
INSERT INTO "trident_staging_balances" VALUES(2,2,'fa4be21b9285425a8ed38948d296c098',5537632208659387805,'a6',1,5);
INSERT INTO "trident_staging_balances" VALUES(2,2,'fa4be21b9285425a8ed38948d296c098',-3867267665210201946,'a2',1,6);
INSERT INTO "trident_staging_balances" VALUES(2,2,'fa4be21b9285425a8ed38948d296c098',-6218150872851933305,'a9',1,7);
INSERT INTO "trident_staging_balances" VALUES(2,2,'fa4be21b9285425a8ed38948d296c098',-3362093283471301146,'a5',1,8);
INSERT INTO "trident_staging_balances" VALUES(2,2,'fa4be21b9285425a8ed38948d296c098',-8287486021711596465,'a0',1,4);
INSERT INTO "trident_staging_balances" VALUES(2,2,'fa4be21b9285425a8ed38948d296c098',-491923806041434937,'a3',1,6);
INSERT INTO "trident_staging_balances" VALUES(2,2,'fa4be21b9285425a8ed38948d296c098',-4837247818738831641,'a1',1,4);
INSERT INTO "trident_staging_balances" VALUES(2,2,'fa4be21b9285425a8ed38948d296c098',-6816908654624279489,'a8',1,5);
INSERT INTO "trident_staging_balances" VALUES(2,2,'fa4be21b9285425a8ed38948d296c098',8778031951036392702,'a4',1,6);
INSERT INTO "trident_staging_balances" VALUES(3,3,'e94ebc6e72af4a48b786378e8ccf3a37',6644225147644163110,'a7',2,21);
INSERT INTO "trident_staging_balances" VALUES(3,3,'e94ebc6e72af4a48b786378e8ccf3a37',-4849460899959658437,'a3',2,23);
INSERT INTO "trident_staging_balances" VALUES(3,3,'e94ebc6e72af4a48b786378e8ccf3a37',-418056681110035641,'a10',2,22);
INSERT INTO "trident_staging_balances" VALUES(3,3,'e94ebc6e72af4a48b786378e8ccf3a37',5837681201003942436,'a6',2,24);
INSERT INTO "trident_staging_balances" VALUES(3,3,'e94ebc6e72af4a48b786378e8ccf3a37',1343194240648960893,'a2',1,9);
INSERT INTO "trident_staging_balances" VALUES(3,3,'e94ebc6e72af4a48b786378e8ccf3a37',-2872275763624350019,'a0',1,7);
INSERT INTO "trident_staging_balances" VALUES(4,4,'acd327cf32a248b7ad920473bc9f6c92',-2690705368553944078,'a2',2,29);
INSERT INTO "trident_staging_balances" VALUES(4,4,'acd327cf32a248b7ad920473bc9f6c92',2183353211117826368,'a9',2,28);
INSERT INTO "trident_staging_balances" VALUES(4,4,'acd327cf32a248b7ad920473bc9f6c92',5290640484463861786,'a5',2,30);
INSERT INTO "trident_staging_balances" VALUES(4,4,'acd327cf32a248b7ad920473bc9f6c92',-1244771617319192976,'a1',2,32);
INSERT INTO "trident_staging_balances" VALUES(4,4,'acd327cf32a248b7ad920473bc9f6c92',-4989618906853181584,'a10',1,10);
INSERT INTO "trident_staging_balances" VALUES(4,4,'acd327cf32a248b7ad920473bc9f6c92',3422944371923465726,'a6',1,11);
INSERT INTO "trident_staging_balances" VALUES(5,5,'dfc4b505505044079464199bffa30159',6902482700610982672,'a8',2,34);
INSERT INTO "trident_staging_balances" VALUES(5,5,'dfc4b505505044079464199bffa30159',-710912396294936857,'a4',2,36);
INSERT INTO "trident_staging_balances" VALUES(5,5,'dfc4b505505044079464199bffa30159',-2750510127752646122,'a0',2,38);
INSERT INTO "trident_staging_balances" VALUES(5,5,'dfc4b505505044079464199bffa30159',3856460031029814951,'a7',1,24);
INSERT INTO "trident_staging_balances" VALUES(5,5,'dfc4b505505044079464199bffa30159',6898767165554006132,'a9',1,13);
INSERT INTO "trident_staging_balances" VALUES(5,5,'dfc4b505505044079464199bffa30159',-5218528483686928013,'a5',1,14);
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
INSERT INTO "trident_state_fence" VALUES('payments',1,'415bbe1619d10bf4a268f80eb04902f0');
CREATE TABLE trident_state_schema (
	version BIGINT NOT NULL, 
	applied_at VARCHAR NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "trident_state_schema" VALUES(1,'2026-11-21T20:54:36.549+00:00');
CREATE TABLE trident_topology (
        name VARCHAR NOT NULL, incarnation TEXT NOT NULL, spec TEXT NOT NULL, created_at VARCHAR NOT NULL,
        PRIMARY KEY (name));
INSERT INTO "trident_topology" VALUES('payments','85795cb54f6abb88','{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"sqlite","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"sqlite","kind":"opaque","table":"totals","database":"own"}}}','2026-11-21T20:54:36.506+00:00');
CREATE UNIQUE INDEX trident_plan_live ON trident_plan (topology, txid) WHERE status = 'live';
CREATE INDEX trident_plan_txid ON trident_plan (topology, txid);
CREATE UNIQUE INDEX "trident_key_balances" ON "balances" ("account");
CREATE UNIQUE INDEX "trident_null_key_balances" ON "balances" (ifnull("account", 0), "account" IS NULL) WHERE "account" IS NULL;
CREATE INDEX "trident_by_txid_trident_staging_balances" ON "trident_staging_balances" (trident_txid);
COMMIT;
