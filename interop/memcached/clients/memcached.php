<?php
// php-memcached (libmemcached): the client script.
// memcached.php HOST PORT HTTP-URL
[, $host, $port, $url] = $argv;
require "check.php";
$want = file_get_contents("$url/depts/10");
$c = new Memcached();
$c->addServer($host, (int) $port);
check("get", $c->get("depts:10"), $want);
check("get of no row", $c->get("depts:99"), false);
check("its code", $c->getResultCode(), Memcached::RES_NOTFOUND);
$many = $c->getMulti(["depts:10", "depts:99", "depts:20"], Memcached::GET_PRESERVE_ORDER);
check("getMulti", array_keys($many), ["depts:10", "depts:99", "depts:20"]);
check("its values", [$many["depts:10"], $many["depts:99"]], [$want, null]);
$keys = [];
for ($i = 0; $i < 100; $i++) {
    $keys[] = "depts:" . ($i % 10 + 1) * 10;
}
check("getMulti of 100", count($c->getMulti($keys)), 4);
check("replace of no row", $c->replace("depts:68", '{"deptName":"A"}'), false);
check("its code", $c->getResultCode(), Memcached::RES_NOTSTORED);
check("add", $c->add("depts:68", '{"deptName":"A"}'), true);
check("add again", $c->add("depts:68", '{"deptName":"B"}'), false);
$old = $c->get("depts:68", null, Memcached::GET_EXTENDED);
check("set", $c->set("depts:68", '{"deptName":"C"}'), true);
check("cas of what has changed", $c->cas($old["cas"], "depts:68", '{"deptName":"D"}'), false);
check("its code", $c->getResultCode(), Memcached::RES_DATA_EXISTS);
$new = $c->get("depts:68", null, Memcached::GET_EXTENDED);
check("cas", $c->cas($new["cas"], "depts:68", '{"deptName":"D"}'), true);
check("get", strpos($c->get("depts:68"), '"deptName":"D"') > 0, true);
check("delete", $c->delete("depts:68"), true);
check("delete again", $c->delete("depts:68"), false);
check("increment of a row", $c->increment("depts:10"), false);
check("get afterwards", $c->get("depts:10"), $want);
check("version", is_array($c->getVersion()), true);
echo "php-memcached ok\n";
