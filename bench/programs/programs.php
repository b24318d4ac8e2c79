<?php
// Asks for a document by its key, again and again, by one client of PHP: see bench/README.md.
// php programs.php CLIENT URL FIRST KEYS CALLERS WARMUP SECONDS. It is one caller, as a program of PHP is.
[, $client, $url, $first, $keys, , $warmup, $seconds] = $argv;
$at = parse_url($url);
switch ($client) {
case 'php-redis':
    $redis = new Redis();
    $redis->connect($at['host'], $at['port']);
    $ask = fn ($n) => $redis->get("depts:$n");
    break;
case 'php-memcached':
    $memcached = new Memcached();
    $memcached->setOption(Memcached::OPT_TCP_NODELAY, true);
    $memcached->addServer($at['host'], $at['port']);
    $ask = fn ($n) => $memcached->get("depts:$n");
    break;
case 'curl':
    $curl = curl_init();
    curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);
    $ask = function ($n) use ($curl, $url) {
        curl_setopt($curl, CURLOPT_URL, "$url/depts/$n");
        return curl_exec($curl);
    };
    break;
case 'pdo':
    $pdo = new PDO("pgsql:host=$at[host];port=$at[port];dbname=" . trim($at['path'], '/'), $at['user']);
    $select = $pdo->prepare('SELECT doc FROM docs WHERE id = ?');
    $ask = function ($n) use ($select) {
        $select->execute([$n]);
        return $select->fetchColumn();
    };
}
$failed = 0;
$run = function (float $until, array &$times) use ($ask, $first, $keys, &$failed): int {
    for ($count = 0; ($began = microtime(true)) < $until; $count += 16) {
        for ($i = 0; $i < 16; $i++) {
            if (strlen((string) $ask($first + mt_rand(0, $keys - 1))) < 1000) {
                $failed++;
            }
        }
        $times[] = (microtime(true) - $began) / 16;
    }
    return $count;
};
for ($n = 0; $n < $keys; $n++) {
    $ask($first + $n);
}
$none = $times = [];
$before = $keys + $run(microtime(true) + $warmup, $none);
$used = getrusage();
$began = microtime(true);
$answers = $run($began + $seconds, $times);
$took = microtime(true) - $began;
$now = getrusage();
$cpu = fn ($what) => ($now["ru_$what.tv_sec"] - $used["ru_$what.tv_sec"]) * 1e6 + $now["ru_$what.tv_usec"] - $used["ru_$what.tv_usec"];
sort($times);
echo json_encode([
    'answers' => $answers, 'all' => $before + $answers, 'failed' => $failed, 'seconds' => $took,
    'user_us' => $cpu('utime'), 'system_us' => $cpu('stime'),
    'p50_us' => $times[intdiv(count($times), 2)] * 1e6, 'p99_us' => $times[intdiv(count($times) * 99, 100)] * 1e6,
]), "\n";
