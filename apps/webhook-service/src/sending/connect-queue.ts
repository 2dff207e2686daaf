import { connectDatabase, type Database, type Lifecycle, type PoolMetrics } from '@leadwire/service-kit'

// A claim that a crash of the database forgets costs a repetition: it does not wait for the disk. What stores events asks to wait.
// Every statement here has its index, which gives the order too: a planner without statistics must neither scan nor sort.
// Measured with 900 endpoints that wait: 300 ms for a look that sorts, else 4. What many accounts' events are stored
// with may wait for no lock that a change of an endpoint holds: who is late is stored apart.
const SETTINGS = {
  synchronous_commit: 'off',
  enable_sort: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
  lock_timeout: '100ms',
}

/** The same database over connections for the statements that store, find and claim deliveries. */
export const connectQueue = (options: {
  url: string
  poolSize: number
  lifecycle: Lifecycle
  settings?: Record<string, string>
  observe?: ReturnType<PoolMetrics>
}): Database => connectDatabase({ ...options, settings: { ...SETTINGS, ...options.settings } })
