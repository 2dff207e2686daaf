/**
 * In the order in which they run: `cold-start` before there is a stack, and what opens inspectors or kills processes
 * last.
 */
export const scenarioNames = [
  'cold-start',
  'retrieve',
  'list',
  'table-size',
  'create',
  'create-many-accounts',
  'upload',
  'delivery-throughput',
  'delivery-latency',
  'connections',
  'isolation',
  'memory',
  'schedule',
  'flame-graphs',
] as const

export type ScenarioName = (typeof scenarioNames)[number]
