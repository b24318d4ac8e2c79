# The same as orms.py by ActiveRecord: orms.rb CLIENT URL.
require 'active_record'
require 'json'

ActiveRecord::Base.record_timestamps = false
class Author < ActiveRecord::Base; end
class Post < ActiveRecord::Base
  belongs_to :author
end

def act(action, key)
  case action
  when 'connect' then ActiveRecord::Base.connection && nil
  when 'get' then Post.find_by(id: key)
  when 'unique' then Author.find_by(email: "a#{key}@example.org")
  when 'list' then Post.where(author_id: key).order(created_at: :desc, id: :desc).limit(20).to_a
  when 'count' then Post.where(author_id: key).count
  when 'exists' then Post.where(author_id: key).exists?
  when 'preload'
    posts = Post.where('id <= ?', 10 * key).order(:id).includes(:author).to_a
    [posts, posts.map { |p| p.author.email }]
  when 'insert' then Post.create!(author_id: key, title: 'new').id
  when 'update'
    found = Post.find(key)
    found.update!(title: 'changed', views: found.views + 1)
  when 'delete' then Post.find(key).destroy! && nil
  when 'transaction' then Post.transaction { Post.find(key) }
  end
end

ActiveRecord::Base.establish_connection(ARGV[1])
$stdin.each_line do |line|
  action, key = line.split
  puts JSON.generate(act(action, key.to_i).as_json)
  $stdout.flush
end
