import { randomUUID } from 'node:crypto'
import {
  AuditServiceDefinition,
  type EndpointFilter,
  Event,
  type EventType,
  eventBody,
  LEADS_STREAM,
  WebhooksServiceDefinition,
} from '@leadwire/contracts'
import {
  connectGrpc,
  createLifecycle,
  createLogger,
  createSealer,
  type Logger,
  migrate,
  natsOptions,
} from '@leadwire/service-kit'
import {
  createDatabase,
  createTemplateDatabase,
  eventually,
  freePort,
  startNats,
  type TestDatabase,
  type TestNats,
} from '@leadwire/test-kit'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { Client } from 'pg'
import type { Clock } from './clock'
import type { Config } from './config'
import { readEvent } from './delivery/append/read-event'
import { sealSecrets } from './endpoints/secrets/sealed-secrets'
import { migrations } from './migrations'
import { startWebhookService } from './start-webhook-service'

export const SETTINGS: Omit<Config, 'DATABASE_URL' | 'NATS_URL'> = {
  LOG_LEVEL: 'silent',
  HOST: '127.0.0.1',
  HEALTH_PORT: 0,
  GRPC_PORT: 0,
  DATABASE_POOL_SIZE: 10,
  WEBHOOK_RETRY_SCHEDULE: [60_000, 300_000, 900_000, 1_800_000, 3_600_000],
  WEBHOOK_TIMEOUT: 10_000,
  WEBHOOK_ALLOW_HOSTS: ['127.0.0.0/8', '::1'],
  WEBHOOK_PROXY: undefined,
  WEBHOOK_CONCURRENCY: 256,
  WEBHOOK_ENDPOINT_CONCURRENCY: 16,
  WEBHOOK_DISABLE_AFTER: Number.POSITIVE_INFINITY,
  WEBHOOK_ENDPOINTS_PER_ACCOUNT: 1000,
  DELIVERY_RETENTION: 30 * 24 * 3_600_000,
  EXHAUSTED_RETENTION: 90 * 24 * 3_600_000,
  IDEMPOTENCY_RETENTION: 24 * 3_600_000,
  NOTIFICATIONS_PER_HOUR: 1000,
  SMTP_URL: { folder: '/nowhere' },
  SMTP_FROM: { name: 'Leadwire', address: 'leads@example.com' },
  SMTP_TIMEOUT: 10_000,
  TIME_ZONE: 'Europe/London',
  ENCRYPTION_KEYS: [Buffer.alloc(32, 7)],
  NATS_CA_FILE: undefined,
  NATS_CREDENTIALS: undefined,
  NATS_NKEY: undefined,
  DATABASE_PASSWORD: undefined,
  DATABASE_PASSWORD_COMMAND: undefined,
  OTEL_EXPORTER_OTLP_HEADERS: undefined,
  NATS_REPLICAS: undefined,
  SMTP_CA_FILE: undefined,
  TLS_CERT_FILE: undefined,
  TLS_KEY_FILE: undefined,
  TLS_CA_FILE: undefined,
  TLS_SERVER_NAME: undefined,
  SERVICE_TOKEN: [],
  SERVICE_AUTH: 'none',
  OTEL_EXPORTER_OTLP_ENDPOINT: undefined,
}

const sealer = createSealer(SETTINGS.ENCRYPTION_KEYS)

/** Encrypts a secret for the column `sealed_secrets` of an endpoint. */
export const sealedFor = (accountId: number, secret = 'a secret of ours'): Buffer =>
  sealSecrets(sealer, accountId, { secret, oldSecrets: [] }).sealed

/** Builds an event of an account, by default lead.created. Its body contains the reference of its lead. */
export const newEvent = (accountId: number, over: Partial<Event> = {}): Event => {
  const leadReference = over.leadReference ?? randomUUID()
  const type = over.type ?? 'lead.created'
  return {
    eventId: randomUUID(),
    accountId,
    accountKey: `key-of-${accountId}`,
    type,
    leadReference,
    leadVersion: 1,
    test: false,
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    createdAt: new Date().toISOString().replace('Z', '000Z'),
    match: undefined,
    body: eventBody(type as EventType, JSON.stringify({ reference: leadReference, name: 'Zoë Ångström' })),
    ...over,
  }
}

/** Builds an event in the form in which it is stored. */
export const storedEvent = (accountId: number, over: Partial<Event> = {}) =>
  readEvent(Event.encode(newEvent(accountId, over)).finish())

const deleteStreams = async (connection: NatsConnection): Promise<void> => {
  const { streams } = await jetstreamManager(connection)
  for await (const name of streams.names()) await streams.delete(name)
}

const migrated = () => createTemplateDatabase('webhooks', (url) => migrate(url, migrations))

/**
 * Opens connections to a new database and to a nats-server, so that tests can publish events and read rows.
 * Starts a new nats-server, unless the caller passes a server that all tests of a file share. Deletes the
 * streams of a shared server.
 */
export const openDoors = async (shared: { nats?: TestNats } = {}) => {
  const template = await migrated()
  const database = await createDatabase({ name: 'webhooks', template })
  const nats = shared.nats ?? (await startNats())
  const connection = await connect({
    ...natsOptions({ NATS_URL: nats.url }),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
  })
  if (shared.nats) await deleteStreams(connection)
  const sql = new Client({ connectionString: database.url })
  sql.on('error', () => undefined)
  await sql.connect()
  const rows = async <Row extends object>(text: string, values: unknown[] = []) =>
    (await sql.query<Row>(text, values)).rows
  return {
    database,
    nats,
    connection,
    event: newEvent,
    rows,
    /**
     * Waits for three polls. A due delivery that was not attempted by then will not be attempted. Each poll
     * is detected by a due manual attempt of account 0: only a poll can find this attempt, so it proves the
     * poll. A scheduled attempt would not do. After a slow poll, the next polls do not read scheduled
     * attempts that have been due for long.
     */
    polls: async () => {
      const ofAccount0 = `endpoint_id IN (SELECT id FROM endpoints WHERE account_id = 0)`
      for (let poll = 0; poll < 3; poll += 1) {
        await rows(
          `
          WITH endpoint AS (
            INSERT INTO endpoints (account_id, url, enabled, sealed_secrets)
            VALUES (0, 'http://127.0.0.1:1/', true, $1) RETURNING id
          ), event AS (
            INSERT INTO events (id, account_id, account_key, lead_reference, body)
            VALUES (gen_random_uuid(), 0, 'key', gen_random_uuid(), '') RETURNING id, lead_reference
          )
          INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, manual_at)
          SELECT 0, event.id, endpoint.id, lead_reference, 'cancelled', '2000-01-01' FROM event, endpoint`,
          [sealedFor(0)],
        )
        await eventually(async () =>
          expect(await rows(`SELECT FROM deliveries WHERE ${ofAccount0} AND attempt_count > 0`)).toHaveLength(
            1,
          ),
        )
        await rows(
          `DELETE FROM attempts WHERE delivery_id IN (SELECT id FROM deliveries WHERE ${ofAccount0})`,
        )
        await rows(`DELETE FROM deliveries WHERE ${ofAccount0}`)
        await rows('DELETE FROM events WHERE account_id = 0')
        await rows(
          'DELETE FROM endpoint_hours WHERE endpoint_id IN (SELECT id FROM endpoints WHERE account_id = 0)',
        )
        await rows('DELETE FROM endpoints WHERE account_id = 0')
      }
    },
    /**
     * Publishes events, and repeats each event until JetStream has stored it. Sends no message ids, so
     * JetStream stores duplicates.
     */
    publish: async (...events: Event[]) => {
      const js = jetstream(connection)
      const send = (event: Event) =>
        js.publish(LEADS_STREAM.subjects.events, Event.encode(event).finish(), { timeout: 10_000 })
      await Promise.all(events.map((event) => eventually(() => send(event))))
    },
    close: async () => {
      await connection.close()
      await sql.end().catch(() => undefined)
      if (!shared.nats) await nats.stop()
      await database.drop()
    },
  }
}

export type Doors = { database: TestDatabase; nats: TestNats }

const SILENT = createLogger({ service: 'webhook-service', level: 'silent' })

/** Starts the whole service in this process, with a gRPC client. */
export const startService = async (
  { database, nats }: Doors,
  {
    clock,
    logger = SILENT,
    sync,
    ...settings
  }: Partial<Config> & { clock?: Clock; logger?: Logger; sync?: () => Promise<boolean> } = {},
) => {
  const HEALTH_PORT = await freePort()
  const config = { ...SETTINGS, HEALTH_PORT, DATABASE_URL: database.url, NATS_URL: nats.url, ...settings }
  const lifecycle = createLifecycle(logger)
  // Polls often, because a test that advances its clock does not wake the loops.
  const given = { ...(clock && { clock }), ...(sync && { sync }), idlePollMs: 250 }
  const { grpcPort } = await startWebhookService({ config, logger, lifecycle }, given).catch(
    async (error) => {
      await lifecycle.stop()
      throw error
    },
  )
  const connection = connectGrpc(`127.0.0.1:${grpcPort}`, { lifecycle, tokens: [] })
  const client = connection.client(WebhooksServiceDefinition, { deadlineMs: 60_000 })
  const health = `http://127.0.0.1:${config.HEALTH_PORT}`
  const metrics = async () => (await fetch(`${health}/metrics`)).text()
  return {
    client,
    readiness: async () => (await fetch(`${health}/readyz`)).json(),
    audit: connection.client(AuditServiceDefinition, { deadlineMs: 60_000 }),
    /** Creates an endpoint of an account. */
    endpoint: async (
      accountId: number,
      url: string,
      {
        types,
        ...rest
      }: {
        enabled?: boolean
        secret?: string
        types?: EventType[]
        leads?: string
        filter?: EndpointFilter
        include?: { parts: string[] }
      } = {},
    ) => {
      const { endpoint, secret } = await client.createWebhookEndpoint({
        accountId,
        url,
        enabled: true,
        ...(types && { events: { types } }),
        ...rest,
      })
      return { id: endpoint!.id, secret }
    },
    metrics,
    /** Reads the value of a metric that has no labels. */
    metric: async (name: string): Promise<number | undefined> => {
      const text = await metrics()
      const value = new RegExp(`^${name}{[^}]*} (.+)$`, 'm').exec(text)?.[1]
      return value === undefined ? undefined : Number(value)
    },
    stop: () => lifecycle.stop(),
  }
}
