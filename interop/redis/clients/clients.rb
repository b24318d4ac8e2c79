# redis-rb: the client script. clients.rb HOST PORT HTTP-URL
require "redis"
require "net/http"

host, port, url = ARGV
def check(what, got, want)
  abort "#{what} = #{got.inspect}, want #{want.inspect}" unless got == want
end

want = Net::HTTP.get(URI("#{url}/depts/10"))
r = Redis.new(host: host, port: port.to_i, db: 1)
check "get", r.get("depts:10"), want
check "get of no row", r.get("depts:99"), nil
check "mget", r.mget("depts:10", "depts:99", "depts:10"), [want, nil, want]
check "hgetall", r.hgetall("emps:7839")["empName"], "KING"
check "exists", r.exists("depts:10", "depts:99"), 1
check "ttl", r.ttl("depts:10"), -1
check "type", r.type("depts:10"), "string"
names = ["ACCOUNTING", "RESEARCH", "SALES", "OPERATIONS"] + [nil] * 6
many = r.pipelined { |p| 100.times { |i| p.hget("depts:#{(i % 10 + 1) * 10}", "deptName") } }
check "pipeline", many, names * 10
check "multi", r.multi { |m| m.get("depts:10"); m.exists("depts:99") }, [want, 0]
check "scan", r.scan_each(match: "depts:*").to_a.uniq.size >= 4, true
check "hset", r.hset("depts:10", "deptLocation", "HERE"), 0
check "hget", r.hget("depts:10", "deptLocation"), "HERE"
check "set nx", r.set("depts:72", '{"deptName":"RUBY"}', nx: true), true
check "set nx again", r.set("depts:72", '{"deptName":"OTHER"}', nx: true), false
check "del", r.del("depts:72", "depts:78"), 1
begin
  r.flushall
  abort "flushall is done"
rescue Redis::CommandError => e
  check "flushall", e.message.start_with?("NOPERM"), true
end
check "ping", r.ping, "PONG"
puts "redis-rb ok"
