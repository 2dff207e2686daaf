import { randomUUID } from 'node:crypto'
import { natsOptions } from '@leadwire/service-kit'
import { AckPolicy, type JsMsg, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { fastify } from 'fastify'
import { Agent } from 'undici'
import { readSettings, serving } from '../process/serving'
import { listen } from './listen'
import { openPool } from './open-pool'
import { signedHeaders } from './signed-headers'

interface Settings {
  databaseUrl: string
  natsUrl: string
  receiverPort: number
}

const [STREAM, SUBJECT, CONSUMER] = ['BENCH', 'bench.created', 'bench']

const TABLE = `
  CREATE SCHEMA IF NOT EXISTS baseline;
  CREATE TABLE IF NOT EXISTS baseline.events (id uuid PRIMARY KEY, body bytea NOT NULL)`

const EVENT = { name: 'event', text: 'INSERT INTO baseline.events (id, body) VALUES ($1, $2)' }

/** Answers and publishes at once, without storing a lead; then JetStream, one insert, POST, all in one process. */
const start = async ({ databaseUrl, natsUrl, receiverPort }: Settings) => {
  // As webhook-service stores an event: what a crash loses comes again from the stream.
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
    const answer = await agent.request({
      ...{ origin: `http://127.0.0.1:${receiverPort}`, method: 'POST', path: '/ok', body: message.data },
      headers: signedHeaders(message.data, 'lw_key_bench'),
    })
    await answer.body.dump()
  }
  const fail = (error: unknown) => console.error(error)
  const consumer = await stream.consumers.get(STREAM, CONSUMER)
  await consumer.consume({ callback: (message) => void deliver(message).catch(fail) })

  const app = fastify()
  app.post('/leads', async (request) => {
    const answer = { data: { reference: randomUUID(), ...(request.body as object) } }
    stream.publish(SUBJECT, JSON.stringify(answer)).catch(fail)
    return answer
  })
  serving({ port: await listen(app) })
}

void start(readSettings<Settings>())
