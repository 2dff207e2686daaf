import type { Pool } from 'pg'
import { Gauge } from 'prom-client'
import type { Metrics } from '../process/metrics'

/** Returns the function that observes the pool with this name. */
export type PoolMetrics = (name: string) => (pool: Pool) => void

/** Adds the use of pools of connections to the metrics, by the pool's name. */
export const createPoolMetrics = (metrics: Metrics): PoolMetrics => {
  const pools = new Map<string, Pool>()
  const add = (name: string, help: string, figureOf: (pool: Pool) => number) =>
    new Gauge({
      ...{ name, help, labelNames: ['pool'], registers: [metrics] },
      collect() {
        for (const [name, pool] of pools) this.set({ pool: name }, figureOf(pool))
      },
    })
  add('leadwire_database_pool_size', 'Connections that a pool may have.', ({ options }) => options.max)
  add(
    'leadwire_database_pool_in_use',
    'Connections of a pool that run a statement or a transaction.',
    ({ totalCount, idleCount }) => totalCount - idleCount,
  )
  add(
    'leadwire_database_pool_waiting',
    'Statements and transactions that wait for a connection of a pool.',
    ({ waitingCount }) => waitingCount,
  )
  return (name) => (pool) => void pools.set(name, pool)
}
