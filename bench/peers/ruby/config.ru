# frozen_string_literal: true

# The service of github.com/stanaka/go-rest-api-server in Ruby, written anew: a user by its id as MessagePack or JSON,
# out of MariaDB or memcached. The client names the id; there the server counted. Each thread of Puma has connections
# of its own, made at its first request.
#
#     USERS_SOCKET=/run/mysqld.sock USERS_DATABASE=users USERS_MEMCACHED=127.0.0.1:11211 puma config.ru

require "dalli"
require "msgpack"
require "mysql2"
require "oj"
require "sinatra/base"

# The four routes of the original, with an id.
class Users < Sinatra::Base
  set :environment, :production
  disable :logging, :protection, :sessions, :static, :show_exceptions

  SELECT = "SELECT name, mail FROM user WHERE id = ?"

  helpers do
    def select
      Thread.current[:select] ||= Mysql2::Client.new(
        socket: ENV.fetch("USERS_SOCKET"), username: "root", database: ENV.fetch("USERS_DATABASE")
      ).prepare(SELECT)
    end

    def cache
      Thread.current[:cache] ||= Dalli::Client.new(ENV.fetch("USERS_MEMCACHED"), threadsafe: false)
    end

    def from_sql(id)
      select.execute(id).first || halt(404)
    end

    def from_memcached(id)
      name, mail = (cache.get(id) || halt(404)).split("|", 2)
      {"name" => name, "mail" => mail}
    end

    def msgpack(user)
      content_type "application/x-msgpack"
      user.to_msgpack
    end

    def json(user)
      content_type "application/json"
      Oj.dump(user, mode: :compat)
    end
  end

  get("/json/:id") { json(from_sql(params["id"])) }
  get("/mem/:id") { msgpack(from_memcached(params["id"])) }
  get("/mem.json/:id") { json(from_memcached(params["id"])) }
  get("/:id") { msgpack(from_sql(params["id"])) }
end

run Users
