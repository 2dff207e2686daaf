import { readStartTime } from '../process/identity'
import { poll } from '../process/poll'
import { readJson, writeJson } from '../process/replace-file'
import { sendSignal } from '../process/send-signal'

type Started = { name: string; pid: number; start: string }

/** Records the running processes, so that the next start can stop them if this process is killed. */
export async function recordProcesses(path: string, running: Map<string, number>): Promise<void> {
  const started = await Promise.all(
    [...running].map(async ([name, pid]) => ({ name, pid, start: (await readStartTime(pid)) ?? 'gone' })),
  )
  await writeJson(path, started)
}

/**
 * Stops processes that an earlier stack started and did not stop. Skips a pid that now belongs to another
 * process.
 * @returns the names of the stopped processes
 */
export async function stopLeftovers(path: string, say: (line: string) => void): Promise<string[]> {
  const recorded = (await readJson<Started[]>(path, say)) ?? []
  const alive = await Promise.all(recorded.map(isStillRunning))
  const leftovers = recorded.filter((_, index) => alive[index])
  await Promise.all(leftovers.map(stopOne))
  return leftovers.map(({ name }) => name)
}

async function isStillRunning({ pid, start }: Started): Promise<boolean> {
  return (await readStartTime(pid)) === start
}

async function stopOne(process_: Started): Promise<void> {
  const { name, pid } = process_
  const gone = async () => !(await isStillRunning(process_))
  sendSignal(pid, name === 'postgres' ? 'SIGINT' : 'SIGTERM')
  await poll(gone, { what: `${name} to stop`, timeoutMs: 12_000 }).catch(async () => {
    sendSignal(-pid, 'SIGKILL')
    await poll(gone, { what: `${name} (pid ${pid}) of an earlier start to stop`, timeoutMs: 5000 })
  })
}
