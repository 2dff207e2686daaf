import { LEADS_STREAM, NOTIFICATION_CONSUMER, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { type Logger, type Metrics, sharedQuery } from '@leadwire/service-kit'
import { type ConsumerInfo, jetstreamManager, type StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Gauge } from 'prom-client'
import { addGauge } from '../gauges'

const TIMEOUT_MS = 1000

/** Adds metrics of the stream, read at each scrape. While NATS is unavailable they have no value. */
export const addStreamMetrics = (deps: { metrics: Metrics; nats: NatsConnection; logger: Logger }): void => {
  const { metrics, nats, logger } = deps
  const query = sharedQuery(async () => {
    const { streams, consumers } = await jetstreamManager(nats, { checkAPI: false, timeout: TIMEOUT_MS })
    const infoOf = (consumer: string) => consumers.info(LEADS_STREAM.name, consumer)
    return Promise.all([
      streams.info(LEADS_STREAM.name),
      Promise.all([WEBHOOK_CONSUMER, NOTIFICATION_CONSUMER].map(infoOf)),
    ])
  })
  type Set = (gauge: Gauge, stream: StreamInfo, consumers: ConsumerInfo[]) => void
  const add = (name: string, help: string, set: Set, labelNames: string[] = []) =>
    addGauge(
      { name: `leadwire_stream_${name}`, help, labelNames, registers: [metrics], logger },
      async (gauge) => {
        gauge.reset()
        set(gauge, ...(await query()))
      },
    )
  const addOfConsumers = (name: string, help: string, key: 'num_pending' | 'num_ack_pending') =>
    add(
      name,
      `Messages of the stream that were ${help}.`,
      (gauge, _, consumers) => {
        for (const info of consumers) gauge.set({ consumer: info.name }, info[key])
      },
      ['consumer'],
    )
  add('messages', 'Messages in the stream.', (gauge, { state }) => gauge.set(state.messages))
  add('bytes', 'Bytes in the stream.', (gauge, { state }) => gauge.set(state.bytes))
  addOfConsumers('pending', 'not delivered to a consumer yet', 'num_pending')
  addOfConsumers('unacknowledged', 'delivered to a consumer and not acknowledged yet', 'num_ack_pending')
}
