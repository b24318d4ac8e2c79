# The service of github.com/stanaka/go-rest-api-server in Perl, written anew: a user by its id as MessagePack or JSON,
# out of MariaDB or memcached. The client names the id; there the server counted. Each worker of Starman has
# connections of its own, made at its first request.
#
#     USERS_SOCKET=/run/mysqld.sock USERS_DATABASE=users USERS_MEMCACHED=127.0.0.1:11211 starman users.psgi
use strict;
use warnings;

use Cache::Memcached::Fast;
use Data::MessagePack;
use DBI;
use JSON::XS;

my $select = 'SELECT name, mail FROM user WHERE id = ?';
my $packer = Data::MessagePack->new;
my $json   = JSON::XS->new;
my ($database, $cache);

sub from_sql {
    my ($id) = @_;
    $database ||= DBI->connect("dbi:mysql:database=$ENV{USERS_DATABASE};mysql_socket=$ENV{USERS_SOCKET}",
        'root', '', {RaiseError => 1});
    my $query = $database->prepare_cached($select);
    $query->bind_param(1, $id, DBI::SQL_VARCHAR);    # the type of the column
    $query->execute;
    my $row = $query->fetchrow_arrayref;
    my $user = $row && {name => $row->[0], mail => $row->[1]};
    $query->finish;
    return $user;
}

sub from_memcached {
    my ($id) = @_;
    $cache ||= Cache::Memcached::Fast->new({servers => [$ENV{USERS_MEMCACHED}]});
    my $value = $cache->get($id);
    return unless defined $value;
    my ($name, $mail) = split /\|/, $value, 2;
    return {name => $name, mail => $mail};
}

my @msgpack = ('application/x-msgpack', sub { $packer->pack($_[0]) });
my @json    = ('application/json',      sub { $json->encode($_[0]) });
my %routes  = (
    ''         => [\&from_sql,       @msgpack],
    'json'     => [\&from_sql,       @json],
    'mem'      => [\&from_memcached, @msgpack],
    'mem.json' => [\&from_memcached, @json],
);

sub {
    my ($env) = @_;
    my ($name, $id) = $env->{PATH_INFO} =~ m{\A/(?:([a-z.]+)/)?([0-9]+)\z};
    my $route = defined $id && $routes{$name // ''};
    my $user  = $route && $route->[0]->($id);
    return [404, ['Content-Type' => 'text/plain'], ["no such user\n"]] unless $user;
    my $body = $route->[2]->($user);
    return [200, ['Content-Type' => $route->[1], 'Content-Length' => length $body], [$body]];
};
