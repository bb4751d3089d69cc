-- Two processes that start together must not both create the tables.
select pg_advisory_xact_lock(hashtext('subscriptions'));

create table if not exists subscriptions (
  id text primary key,
  customer text not null,
  status text not null,
  -- The last change that is known: when it happened, and its step in the life of a subscription.
  changed_at timestamptz not null,
  step smallint not null
);

create table if not exists subscription_changes (
  subscription text not null,
  type text not null,
  occurred_at timestamptz not null
);
