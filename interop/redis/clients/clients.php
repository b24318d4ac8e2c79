<?php
// php-redis: the client script. clients.php HOST PORT HTTP-URL
[, $host, $port, $url] = $argv;
require "check.php";
$want = file_get_contents("$url/depts/10");
$r = new Redis();
check("connect", $r->connect($host, (int) $port), true);
check("select", $r->select(1), true);
check("get", $r->get("depts:10"), $want);
check("get of no row", $r->get("depts:99"), false);
check("mget", $r->mGet(["depts:10", "depts:99", "depts:10"]), [$want, false, $want]);
check("hgetall", $r->hGetAll("emps:7839")["empName"], "KING");
check("exists", $r->exists("depts:10", "depts:99"), 1);
check("ttl", $r->ttl("depts:10"), -1);
check("type", $r->type("depts:10"), Redis::REDIS_STRING);
$names = ["ACCOUNTING", "RESEARCH", "SALES", "OPERATIONS", false, false, false, false, false, false];
$pipe = $r->pipeline();
for ($i = 0; $i < 100; $i++) {
    $pipe->hGet("depts:" . ($i % 10 + 1) * 10, "deptName");
}
foreach ($pipe->exec() as $i => $name) {
    check("pipeline, $i", $name, $names[$i % 10]);
}
check("multi", $r->multi()->get("depts:10")->exists("depts:99")->exec(), [$want, 0]);
$r->setOption(Redis::OPT_SCAN, Redis::SCAN_RETRY);
$keys = [];
for ($cursor = null; $some = $r->scan($cursor, "depts:*");) {
    $keys = array_merge($keys, $some);
}
check("scan", count(array_unique($keys)) >= 4, true);
check("hset", $r->hSet("depts:10", "deptLocation", "HERE"), 0);
check("hget", $r->hGet("depts:10", "deptLocation"), "HERE");
check("set nx", $r->set("depts:73", '{"deptName":"PHP"}', ["nx"]), true);
check("set nx again", $r->set("depts:73", '{"deptName":"OTHER"}', ["nx"]), false);
check("del", $r->del("depts:73", "depts:78"), 1);
try {
    $done = $r->flushAll();
    check("flushall", $done, false);
    check("its error", strpos($r->getLastError() ?? "", "NOPERM"), 0);
} catch (RedisException $refused) {
    check("flushall", strpos($refused->getMessage(), "NOPERM"), 0);
}
check("ping", $r->ping(), true);
echo "php-redis ok\n";
