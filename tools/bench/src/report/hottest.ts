import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** A profile as V8 writes it (Chrome DevTools Protocol, Profiler.Profile). */
interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

export interface Hottest {
  process: string
  functions: { name: string; share: number }[]
}

/** The functions with the most time of their own in each profile of a folder; what waits is left out. */
export const hottestOf = async (folder: string): Promise<Hottest[]> => {
  const files = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.cpuprofile')).sort()
  return Promise.all(
    files.map(async (file) => ({
      process: basename(file, '.cpuprofile'),
      functions: hottest(JSON.parse(await readFile(join(folder, file), 'utf8')), 12),
    })),
  )
}

const hottest = ({ nodes, samples, timeDeltas }: Profile, count: number) => {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  const own = new Map<string, number>()
  samples.forEach((id, index) => {
    const name = names.get(id)!
    if (name !== '(idle)') own.set(name, (own.get(name) ?? 0) + Math.max(0, timeDeltas[index] ?? 0))
  })
  const total = [...own.values()].reduce((sum, time) => sum + time, 0)
  return [...own]
    .sort((a, b) => b[1] - a[1])
    .slice(0, count)
    .map(([name, time]) => ({ name, share: time / total }))
}

/** The function and where it is, without the machine's folders. */
const nameOf = ({ functionName, url, lineNumber }: Profile['nodes'][0]['callFrame']) => {
  const name = functionName || '(anonymous)'
  return url === ''
    ? name
    : `${name} ${url.replace(/^.*\/(?=apps\/|libs\/|node_modules\/)/, '')}:${lineNumber + 1}`
}
