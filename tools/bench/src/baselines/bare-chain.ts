import { randomUUID } from 'node:crypto'
import { natsOptions } from '@leadwire/service-kit'
import { AckPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { fastify } from 'fastify'
import { Agent } from 'undici'
import { readSettings, reportReady } from '../process/report-ready'
import { listen } from './listen'
import { openPool } from './open-pool'
import { signHeaders } from './sign-headers'

interface Settings {
  databaseUrl: string
  natsUrl: string
  receiverPort: number
}

const STREAM = 'BENCH'
const SUBJECT = 'bench.created'
const CONSUMER = 'bench'

const TABLE = `
  CREATE SCHEMA IF NOT EXISTS baseline;
  CREATE TABLE IF NOT EXISTS baseline.events (id uuid PRIMARY KEY, body bytea NOT NULL)`

const EVENT = { name: 'event', text: 'INSERT INTO baseline.events (id, body) VALUES ($1, $2)' }

/**
 * Runs the parts of a create and its webhook in one process. Responds and publishes at once, without storing
 * a lead. Then consumes from JetStream, inserts one row and POSTs.
 */
const start = async ({ databaseUrl, natsUrl, receiverPort }: Settings) => {
  // Commits without waiting for the disk, as webhook-service does for events. If a crash loses events, the
  // stream sends them again.
  const pool = openPool(databaseUrl, '-c synchronous_commit=off')
  await pool.query(TABLE)
  const agent = new Agent({ connections: 64 })
  const nats = await connect(natsOptions({ NATS_URL: natsUrl }))
  const manager = await jetstreamManager(nats)
  await manager.streams.add({ name: STREAM, subjects: [SUBJECT] })
  await manager.consumers.add(STREAM, { durable_name: CONSUMER, ack_policy: AckPolicy.Explicit })
  const stream = jetstream(nats)

  const deliver = async (message: JsMsg) => {
    await pool.query({ ...EVENT, values: [randomUUID(), Buffer.from(message.data)] })
    message.ack()
    const response = await agent.request({
      origin: `http://127.0.0.1:${receiverPort}`,
      method: 'POST',
      path: '/ok',
      headers: signHeaders(message.data),
      body: message.data,
    })
    await response.body.dump()
  }
  const logError = (error: unknown) => console.error(error)
  const consumer = await stream.consumers.get(STREAM, CONSUMER)
  await consumer.consume({ callback: (message) => void deliver(message).catch(logError) })

  const app = fastify()
  app.post('/leads', async (request) => {
    const created = { data: { reference: randomUUID(), ...(request.body as object) } }
    stream.publish(SUBJECT, JSON.stringify(created)).catch(logError)
    return created
  })
  reportReady({ port: await listen(app) })
}

void start(readSettings<Settings>())
