import { LEADS_STREAM, NOTIFICATION_CONSUMER, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { addGauges, type Logger, type Metrics } from '@leadwire/service-kit'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'

const TIMEOUT_MS = 1000
const CONSUMERS = [WEBHOOK_CONSUMER, NOTIFICATION_CONSUMER]

/** Registers the metrics of the stream and its consumers. */
export const addStreamMetrics = (deps: { metrics: Metrics; nats: NatsConnection; logger: Logger }): void => {
  const query = async () => {
    const options = { checkAPI: false, timeout: TIMEOUT_MS }
    const { streams, consumers } = await jetstreamManager(deps.nats, options)
    const [{ state }, ...infos] = await Promise.all([
      streams.info(LEADS_STREAM.name),
      ...CONSUMERS.map((name) => consumers.info(LEADS_STREAM.name, name)),
    ])
    const readFromEach = (key: 'num_pending' | 'num_ack_pending') =>
      Object.fromEntries(infos.map((info) => [info.name, info[key]]))
    return {
      ...state,
      pending: readFromEach('num_pending'),
      unacknowledged: readFromEach('num_ack_pending'),
    }
  }
  addGauges({ ...deps, query }, [
    { name: 'leadwire_stream_messages', help: 'Messages in the stream.', of: ({ messages }) => messages },
    { name: 'leadwire_stream_bytes', help: 'Bytes in the stream.', of: ({ bytes }) => bytes },
    {
      name: 'leadwire_stream_pending',
      help: 'Messages of the stream that a consumer has not received yet.',
      label: 'consumer',
      of: ({ pending }) => pending,
    },
    {
      name: 'leadwire_stream_unacknowledged',
      help: 'Messages of the stream that a consumer has received and not acknowledged yet.',
      label: 'consumer',
      of: ({ unacknowledged }) => unacknowledged,
    },
  ])
}
