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
 * Does the work of a create and its webhook in one process. A create publishes an event and responds at once,
 * without storing a lead. A consumer takes the event from JetStream, inserts one row and sends the webhook.
 */
const start = async ({ databaseUrl, natsUrl, receiverPort }: Settings) => {
  // Commits without waiting for the disk, which favours this baseline: webhook-service waits for the disk
  // when it stores an event.
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
