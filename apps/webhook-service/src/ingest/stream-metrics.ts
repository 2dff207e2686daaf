import { LEADS_STREAM, NOTIFICATION_CONSUMER, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { type Logger, type Metrics, sharedQuery } from '@leadwire/service-kit'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { Gauge } from 'prom-client'

const TIMEOUT_MS = 1000
const CONSUMERS = [WEBHOOK_CONSUMER, NOTIFICATION_CONSUMER]

/** Adds metrics of the stream, read at each scrape. While NATS is unavailable they have no value. */
export const addStreamMetrics = (deps: { metrics: Metrics; nats: NatsConnection; logger: Logger }): void => {
  const { metrics, nats, logger } = deps
  const query = sharedQuery(async () => {
    const { streams, consumers } = await jetstreamManager(nats, { checkAPI: false, timeout: TIMEOUT_MS })
    const [stream, ...infos] = await Promise.all([
      streams.info(LEADS_STREAM.name),
      ...CONSUMERS.map((name) => consumers.info(LEADS_STREAM.name, name)),
    ])
    return { stream, consumers: infos }
  })
  type Found = Awaited<ReturnType<typeof query>>
  const add = (name: string, help: string, labelNames: string[], set: (gauge: Gauge, found: Found) => void) =>
    new Gauge({
      ...{ name, help, labelNames, registers: [metrics] },
      async collect() {
        this.reset()
        await query().then(
          (found) => set(this, found),
          (error) => logger.debug({ err: error, metric: name }, 'could not read a metric'),
        )
      },
    })
  const addOfConsumers = (name: string, help: string, key: 'num_pending' | 'num_ack_pending') =>
    add(name, help, ['consumer'], (gauge, { consumers }) => {
      for (const info of consumers) gauge.set({ consumer: info.name }, info[key])
    })
  add('leadwire_stream_messages', 'Messages in the stream.', [], (gauge, { stream }) =>
    gauge.set(stream.state.messages),
  )
  add('leadwire_stream_bytes', 'Bytes in the stream.', [], (gauge, { stream }) =>
    gauge.set(stream.state.bytes),
  )
  addOfConsumers(
    'leadwire_stream_pending',
    'Messages of the stream that were not delivered to a consumer yet.',
    'num_pending',
  )
  addOfConsumers(
    'leadwire_stream_unacknowledged',
    'Messages of the stream that were delivered to a consumer and not acknowledged yet.',
    'num_ack_pending',
  )
}
