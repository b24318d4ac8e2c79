<?php
// Clients as a PHP program is one: each request has a connection of its own, since nothing
// of a request outlives it.
//
//     php clients.php WAY CLIENTS SECONDS URL [CA]
//
// WAY is streams (file_get_contents) or curl (a handle for each request). CLIENTS processes
// ask for URL, one request after the other; servers are verified by the certificates in the
// file CA. Prints as JSON how many answers there were, how many requests failed (no answer,
// a status other than 200, another length than the first), the seconds that it took, and
// quantiles of the times of answers in µs.

if ($argc < 5) {
    fwrite(STDERR, "usage: php clients.php streams|curl CLIENTS SECONDS URL [CA]\n");
    exit(2);
}
[, $way, $clients, $seconds, $url] = $argv;
$ca = $argv[5] ?? '';

$why = ''; // of the last request that failed

/** Asks by file_get_contents. Returns the body, or null. */
function askStreams(string $url, string $ca): ?string
{
    $context = stream_context_create([
        'http' => ['timeout' => 10, 'ignore_errors' => true],
        'ssl' => $ca === '' ? [] : ['cafile' => $ca],
    ]);
    $body = @file_get_contents($url, false, $context);
    if ($body !== false && preg_match('#^HTTP/1\.[01] 200 #', $http_response_header[0])) {
        return $body;
    }
    $GLOBALS['why'] = $body === false ? error_get_last()['message'] : $http_response_header[0];
    return null;
}

/** Asks by curl. Returns the body, or null. */
function askCurl(string $url, string $ca): ?string
{
    $handle = curl_init($url);
    curl_setopt_array($handle, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 10]);
    if ($ca !== '') {
        curl_setopt($handle, CURLOPT_CAINFO, $ca);
    }
    $body = curl_exec($handle);
    $status = curl_getinfo($handle, CURLINFO_RESPONSE_CODE);
    if ($body !== false && $status === 200) {
        return $body;
    }
    $GLOBALS['why'] = $body === false ? curl_error($handle) : "status $status";
    return null;
}

$ask = match ($way) {
    'streams' => askStreams(...),
    'curl' => askCurl(...),
};
$first = $ask($url, $ca);
if ($first === null) {
    fwrite(STDERR, "clients.php: no answer from $url: $why\n");
    exit(1);
}

$begin = hrtime(true);
$end = $begin + (int) ($seconds * 1e9);
$pipes = [];
for ($i = 0; $i < (int) $clients; $i++) {
    $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    if (pcntl_fork() === 0) {
        [$times, $failed] = [[], 0];
        while (($now = hrtime(true)) < $end) {
            $body = $ask($url, $ca);
            if ($body === null || strlen($body) !== strlen($first)) {
                $failed++;
            } else {
                $times[] = hrtime(true) - $now;
            }
        }
        fwrite($pair[1], pack('PP', $failed, hrtime(true)) . pack('P*', ...$times));
        exit(0);
    }
    fclose($pair[1]);
    $pipes[] = $pair[0];
}
[$times, $failed, $last] = [[], 0, $begin];
foreach ($pipes as $pipe) {
    $said = array_values(unpack('P*', stream_get_contents($pipe)));
    $failed += $said[0];
    $last = max($last, $said[1]);
    array_push($times, ...array_slice($said, 2));
}
while (pcntl_wait($status) > 0);
sort($times);
$at = fn (float $q): float => $times === [] ? 0 : $times[(int) ((count($times) - 1) * $q)] / 1e3;
echo json_encode([
    'answers' => count($times), 'failed' => $failed, 'seconds' => ($last - $begin) / 1e9,
    'p50_us' => $at(0.5), 'p90_us' => $at(0.9), 'p99_us' => $at(0.99), 'p999_us' => $at(0.999),
]), "\n";
