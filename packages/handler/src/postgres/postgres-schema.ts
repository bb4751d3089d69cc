/** The indexes of the messages, by name. The first finds the due messages of one name, so that others cost a claim nothing. */
export const OUTBOX_INDEXES = {
  oncehook_outbox_name_due_at: 'oncehook_outbox (handler, name, due_at) where dead_at is null',
  oncehook_outbox_created_at: 'oncehook_outbox (handler, created_at) where dead_at is null',
  oncehook_outbox_dead_at: 'oncehook_outbox (handler, dead_at) where dead_at is not null',
} as const

/** Creates the tables of the handler. It can be run again at any time, and changes nothing then. */
export const POSTGRES_TABLES = `create table if not exists oncehook_keys (
  handler text not null,
  key text not null,
  outcome text not null check (outcome in ('done', 'unhandled')),
  body_hash text not null,
  conflicts integer not null default 0,
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
`

const INDEXES = Object.entries(OUTBOX_INDEXES)
  .map(([name, on]) => `create index if not exists ${name} on ${on};\n`)
  .join('')

/** Creates the tables and indexes of the handler. On a table in use, building an index keeps writers waiting. */
export const POSTGRES_SCHEMA = `${POSTGRES_TABLES}${INDEXES}`
