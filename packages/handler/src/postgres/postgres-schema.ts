/** Creates the tables and indexes of the handler. The second index finds the due messages of one name, so that others cost a claim nothing. */
export const POSTGRES_SCHEMA = `create table if not exists oncehook_keys (
  handler text not null,
  key text not null,
  outcome text not null check (outcome in ('done', 'unhandled')),
  body_hash text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (handler, key)
);
create index if not exists oncehook_keys_expires_at on oncehook_keys (expires_at);
create table if not exists oncehook_outbox (
  id bigint generated always as identity primary key,
  handler text not null,
  name text not null,
  key text not null,
  payload json not null,
  attempt integer not null default 0,
  created_at timestamptz not null default now(),
  due_at timestamptz not null default now(),
  dead_at timestamptz,
  reason text
);
create index if not exists oncehook_outbox_name_due_at on oncehook_outbox (handler, name, due_at) where dead_at is null;
create index if not exists oncehook_outbox_created_at on oncehook_outbox (handler, created_at) where dead_at is null;
create index if not exists oncehook_outbox_dead_at on oncehook_outbox (handler, dead_at) where dead_at is not null;
`
