import { LEADS_STREAM, NOTIFICATION_CONSUMER, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { type Logger, lookUpOnce, type Metrics } from '@leadwire/service-kit'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { Gauge } from 'prom-client'

const TIMEOUT_MS = 1000
const CONSUMERS = [WEBHOOK_CONSUMER, NOTIFICATION_CONSUMER]

/** Adds what is in the stream to the metrics. It is looked up when somebody asks, and not told while NATS is unavailable. */
export const addStreamMetrics = (deps: { metrics: Metrics; nats: NatsConnection; logger: Logger }): void => {
  const { metrics, nats, logger } = deps
  const lookUp = lookUpOnce(async () => {
    const { streams, consumers } = await jetstreamManager(nats, { checkAPI: false, timeout: TIMEOUT_MS })
    const [stream, ...infos] = await Promise.all([
      streams.info(LEADS_STREAM.name),
      ...CONSUMERS.map((name) => consumers.info(LEADS_STREAM.name, name)),
    ])
    return { stream, consumers: infos }
  })
  type Found = Awaited<ReturnType<typeof lookUp>>
  const add = (
    { name, help, labelNames = [] }: { name: string; help: string; labelNames?: string[] },
    tell: (gauge: Gauge, found: Found) => void,
  ) =>
    new Gauge({
      ...{ name, help, labelNames, registers: [metrics] },
      async collect() {
        this.reset()
        await lookUp().then(
          (found) => tell(this, found),
          (error) => logger.debug({ err: error, metric: name }, 'could not look up a metric'),
        )
      },
    })
  add({ name: 'leadwire_stream_messages', help: 'Messages in the stream.' }, (gauge, { stream }) =>
    gauge.set(stream.state.messages),
  )
  add({ name: 'leadwire_stream_bytes', help: 'Bytes in the stream.' }, (gauge, { stream }) =>
    gauge.set(stream.state.bytes),
  )
  add(
    {
      name: 'leadwire_stream_pending',
      help: 'Messages of the stream that were not delivered to a consumer yet.',
      labelNames: ['consumer'],
    },
    (gauge, { consumers }) => {
      for (const { name, num_pending } of consumers) gauge.set({ consumer: name }, num_pending)
    },
  )
  add(
    {
      name: 'leadwire_stream_unacknowledged',
      help: 'Messages of the stream that a consumer was delivered and has not acknowledged yet.',
      labelNames: ['consumer'],
    },
    (gauge, { consumers }) => {
      for (const { name, num_ack_pending } of consumers) gauge.set({ consumer: name }, num_ack_pending)
    },
  )
}
