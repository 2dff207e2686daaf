import { inSpan, type Metrics, SpanKind } from '@leadwire/service-kit'
import { Histogram } from 'prom-client'
import type { ObjectStore } from './object-store'

/** The same store, with how long its operations take, by outcome, in the metrics. A read counts to its first byte. */
export const observeStore = (store: ObjectStore, metrics: Metrics): ObjectStore => {
  const seconds = new Histogram({
    name: 'leadwire_store_seconds',
    help: 'How long operations of the object store took, a read to its first byte, by outcome.',
    labelNames: ['operation', 'outcome'],
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    registers: [metrics],
  })
  const observed = async <Result>(operation: string, work: () => Promise<Result>): Promise<Result> => {
    const end = seconds.startTimer({ operation })
    let outcome = 'failed'
    try {
      const result = await inSpan(`store ${operation}`, { kind: SpanKind.CLIENT }, work)
      outcome = 'done'
      return result
    } finally {
      end({ outcome })
    }
  }
  return {
    ...store,
    check: () => observed('check', () => store.check()),
    put: (...given) => observed('put', () => store.put(...given)),
    get: (...given) => observed('get', () => store.get(...given)),
    delete: (key) => observed('delete', () => store.delete(key)),
  }
}
