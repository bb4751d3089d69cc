-- The keys of events that have had their effect. Keep them for longer than the gateway keeps events: 90 days by default.
create table if not exists keys (
  key text primary key,
  body_hash text not null,
  created_at text not null default current_timestamp
);

create table if not exists credits (
  customer text not null,
  currency text not null,
  amount integer not null,
  primary key (customer, currency)
);
