import type { Logger } from '@leadwire/service-kit'
import type { Outcome } from '../attempt/make-attempt'
import type { WebhookMetrics } from '../webhook-metrics'
import type { BodiesInHand } from './bodies-in-hand'
import type { ClaimedDelivery } from './claim-deliveries'
import type { Running, Slots } from './slots'

/** After a fault of ours, such as no free sockets, nothing starts for a moment. */
const FAULT_PAUSE_MS = 1000

/** The attempts of this process: what is claimed, and not yet written down or given back. */
export const createAttemptsUnderWay = (options: {
  attempt: (delivery: ClaimedDelivery) => Promise<Outcome>
  record: (delivery: ClaimedDelivery, outcome: Outcome) => Promise<void>
  slots: Slots
  bodies: BodiesInHand
  /** Called when a slot is free again. */
  onFree: () => void
  /** Aborted when what comes to its end is no longer written down. */
  signal: AbortSignal
  metrics: WebhookMetrics
  logger: Logger
}) => {
  const { attempt, record, slots, bodies, signal, metrics, logger } = options
  const underWay = new Map<number, { delivery: ClaimedDelivery; work: Promise<void> }>()
  const unmade: ClaimedDelivery[] = []
  let pausedUntil = 0

  const run = async (delivery: ClaimedDelivery, slot: Running) => {
    try {
      metrics.inFlight.inc()
      const outcome = await attempt(delivery)
      slots.finish(slot)
      metrics.inFlight.dec()
      options.onFree()
      if (signal.aborted) return
      if (outcome.error !== 'ours') return await record(delivery, outcome)
      pausedUntil = performance.now() + FAULT_PAUSE_MS
      logger.error(
        { err: outcome.cause, delivery_id: delivery.id },
        'an attempt could not be made, for a fault of ours',
      )
      unmade.push(delivery)
    } catch (error) {
      if (signal.aborted) return
      logger.error({ err: error, delivery_id: delivery.id }, 'an attempt got lost')
      unmade.push(delivery)
    } finally {
      bodies.letGo(delivery.eventId)
      // Not when the claim was lost meanwhile and made anew: that one is still under way.
      if (underWay.get(delivery.id)?.delivery === delivery) underWay.delete(delivery.id)
    }
  }

  return {
    begin: (delivery: ClaimedDelivery, slot: Running): void => {
      delivery.body = bodies.hold(delivery.eventId, delivery.body)
      underWay.set(delivery.id, { delivery, work: run(delivery, slot) })
    },
    /** The deliveries that a worker of this process has claimed and that are known here. */
    claimedBy: (workerId: number): number[] =>
      [...underWay].filter(([, { delivery }]) => delivery.claimedBy === workerId).map(([id]) => id),
    /** Has the claims given back whose attempts could not be made; again next time should that fail. */
    giveBackUnmade: async (giveBack: (claims: ClaimedDelivery[]) => Promise<void>): Promise<void> => {
      const claims = [...unmade]
      if (claims.length === 0) return
      await giveBack(claims)
      unmade.splice(0, claims.length)
    },
    settled: () => Promise.all([...underWay.values()].map(({ work }) => work)),
    /** For how many milliseconds nothing should begin. */
    pausedFor: (): number => pausedUntil - performance.now(),
  }
}

export type AttemptsUnderWay = ReturnType<typeof createAttemptsUnderWay>
