// Loaded by `--require` into each process of a stack that is profiled: Node 20 takes no --cpu-prof from NODE_OPTIONS.
import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { basename, dirname, join } from 'node:path'

const folder = process.env['BENCH_PROFILES']
// apps/gateway/dist/main.js is the gateway.
const name = basename(dirname(dirname(process.argv[1] ?? '')))

if (folder && process.argv[1]?.includes(`${join('apps', name)}`)) {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  // Loading is none of a request's time.
  setTimeout(() => session.post('Profiler.start'), 3000).unref()
  process.on('exit', () =>
    session.post('Profiler.stop', (_error, { profile }) => {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, `${name}.cpuprofile`), JSON.stringify(profile))
    }),
  )
}
