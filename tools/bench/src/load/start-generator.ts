import { startProgram } from '../process/start-program'
import type { Answers, ClosedLoop, LoadResult, OpenLoop } from './jobs'

export type Generator = {
  pid: number
  closedLoop(job: ClosedLoop): Promise<LoadResult>
  openLoop(job: OpenLoop): Promise<LoadResult & { answers: Answers }>
  stop(): Promise<void>
}

/** The load comes from a process of its own, so that measuring never waits for what is measured. */
export async function startGenerator(): Promise<Generator> {
  const { pid, call, stop } = await startProgram('load/generator')
  return {
    pid,
    closedLoop: (job) => call('closedLoop', job),
    openLoop: (job) => call('openLoop', job),
    stop,
  }
}
