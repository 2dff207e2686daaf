import type { JsMsg } from '@nats-io/jetstream'
import type { StoredEvent } from './stored-event'

/** What is pulled and not yet answered. An account may have more than its share only while there is room for all. */
const IN_HAND = { messages: 4000, bytes: 32 * 1024 * 1024 }
const SHARE = 1 / 4
/** Beyond it nobody's are kept. */
const AT_MOST = 2

/** An unanswered message comes again after the consumer's `ack_wait`: so JetStream hears of it more often than that. */
const WORKING_EVERY_MS = 2000

interface Load {
  messages: number
  bytes: number
}

/** The greater part of what may be in hand, of messages or of bytes. */
const partOf = ({ messages, bytes }: Load) => Math.max(messages / IN_HAND.messages, bytes / IN_HAND.bytes)

/** The messages that this process works on, by account. */
export const createMessagesInHand = () => {
  const addedAt = new Map<JsMsg, number>()
  const all: Load = { messages: 0, bytes: 0 }
  const ofAccount = new Map<number, Load>()

  const loadOf = (accountId: number): Load => ofAccount.get(accountId) ?? { messages: 0, bytes: 0 }
  const count = ({ accountId, body }: StoredEvent, by: 1 | -1) => {
    const load = loadOf(accountId)
    for (const each of [all, load]) {
      each.messages += by
      each.bytes += by * body.length
    }
    if (load.messages === 0) ofAccount.delete(accountId)
    else ofAccount.set(accountId, load)
  }

  const timer = setInterval(() => {
    const old = performance.now() - WORKING_EVERY_MS / 2
    for (const [message, at] of addedAt) if (at < old) message.working()
  }, WORKING_EVERY_MS).unref()

  return {
    /** Whether one more of this account may be kept; of an account that has none always, short of the utmost. */
    hasRoomFor: (accountId: number): boolean => {
      const part = partOf(all)
      return part < 1 || (part < AT_MOST && partOf(loadOf(accountId)) < SHARE)
    },
    /** Keeps a message until `work` has settled. */
    during: async (message: JsMsg, event: StoredEvent, work: () => Promise<void>): Promise<void> => {
      addedAt.set(message, performance.now())
      count(event, 1)
      try {
        await work()
      } finally {
        addedAt.delete(message)
        count(event, -1)
      }
    },
    stop: (): void => clearInterval(timer),
  }
}
