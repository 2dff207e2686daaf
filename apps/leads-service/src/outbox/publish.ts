import { randomUUID } from 'node:crypto'
import { LEADS_STREAM_CONFIG } from '@leadwire/contracts'
import { ensureStream } from '@leadwire/service-kit'
import { jetstreamManager } from '@nats-io/jetstream'
import { createInbox, headers, type Msg, type NatsConnection } from '@nats-io/transport-node'

/** Publishes one message; resolves when the stream has stored it. */
export type Publish = (subject: string, payload: Uint8Array, messageId: string) => Promise<unknown>

const TIMEOUT_MS = 3000

interface Waiting {
  resolve: () => void
  reject: (error: Error) => void
  timer: NodeJS.Timeout
}

/** Why a stream did not store a message, by its answer (JetStream's PubAck); a header alone says that there is none. */
const refusalOf = ({ data, headers }: Msg): Error | undefined => {
  if (data.length === 0)
    return new Error(`the message was not stored: ${headers?.status ?? 'an empty answer'}`)
  const { error } = JSON.parse(new TextDecoder().decode(data)) as { error?: { description: string } }
  return error && new Error(`the message was not stored: ${error.description}`)
}

const headersOf = (messageId: string) => {
  const known = headers()
  known.set('Nats-Msg-Id', messageId)
  return known
}

/** How many bytes the headers of an event have. Its id is a UUID. */
export const HEADER_BYTES = Buffer.byteLength(headersOf(randomUUID()).toString())

/**
 * Publishes messages and waits for their acknowledgements, which come to one subscription. The client's own requests make
 * two timers, a race and an error with its stack for each message, though it succeeds: a tenth of leads-service's time
 * under creates.
 */
const createAcknowledged = (connection: NatsConnection) => {
  const inbox = createInbox()
  const waiting = new Map<string, Waiting>()
  let published = 0

  const settle = (subject: string, refusal: Error | undefined) => {
    const found = waiting.get(subject)
    if (!found) return
    waiting.delete(subject)
    clearTimeout(found.timer)
    if (refusal) found.reject(refusal)
    else found.resolve()
  }
  connection.subscribe(`${inbox}.*`, {
    callback: (error, message) => {
      if (!error) settle(message.subject, refusalOf(message))
    },
  })
  return (subject: string, payload: Uint8Array, messageId: string) =>
    new Promise<void>((resolve, reject) => {
      published += 1
      const reply = `${inbox}.${published}`
      connection.publish(subject, payload, { reply, headers: headersOf(messageId) })
      const timer = setTimeout(() => settle(reply, new Error('no acknowledgement came in time')), TIMEOUT_MS)
      // What is unanswered is still in the outbox: nobody stays for it.
      timer.unref()
      waiting.set(reply, { resolve, reject, timer })
    })
}

/** Publishes to the lead stream, which is made when it is missing: it may have been lost with everything in it. */
export const publishTo = (connection: NatsConnection): Publish => {
  const publish = createAcknowledged(connection)
  let ensured: Promise<unknown> | undefined
  const ensureLeads = async () =>
    ensureStream(await jetstreamManager(connection, { timeout: TIMEOUT_MS }), LEADS_STREAM_CONFIG)
  return async (subject, payload, messageId) => {
    ensured ??= ensureLeads()
    try {
      await ensured
      return await publish(subject, payload, messageId)
    } catch (error) {
      ensured = undefined
      throw error
    }
  }
}
