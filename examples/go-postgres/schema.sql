-- Two processes that start together must not both create the tables.
select pg_advisory_xact_lock(hashtext('balances'));

-- The keys of events that have had their effect. Keep them for longer than the gateway keeps events: 90 days by default.
create table if not exists keys (
  key text primary key,
  body_hash bytea not null,
  created_at timestamptz not null default now()
);

create table if not exists balances (
  account text not null,
  currency text not null,
  amount bigint not null,
  primary key (account, currency)
);
