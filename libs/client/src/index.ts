export { type CallOptions, createLeadwire, type Leadwire, type LeadwireOptions } from './leadwire'
export { LeadwireProblem } from './problem'
export type * from './types'
export type { FileToSend } from './upload'
