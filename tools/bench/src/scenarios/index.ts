import type { Context } from '../context'
import { connections } from './connections'
import { create } from './create'
import { createManyAccounts } from './create-many-accounts'
import { deliveryLatency } from './delivery-latency'
import { deliveryThroughput } from './delivery-throughput'
import { flameGraphs } from './flame-graphs'
import { isolation } from './isolation'
import { list } from './list'
import { memory } from './memory'
import type { ScenarioName } from './names'
import { retrieve } from './retrieve'
import { schedule } from './schedule'
import { tableSize } from './table-size'
import { upload } from './upload'

export type Scenario = (context: Context) => Promise<void>

/** Those that run on the stack. */
export const scenarios: Record<Exclude<ScenarioName, 'cold-start'>, Scenario> = {
  retrieve,
  list,
  'table-size': tableSize,
  create,
  'create-many-accounts': createManyAccounts,
  upload,
  'delivery-throughput': deliveryThroughput,
  'delivery-latency': deliveryLatency,
  connections,
  isolation,
  memory,
  schedule,
  'flame-graphs': flameGraphs,
}
