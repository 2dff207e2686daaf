import { createLog } from './log'

function collect(everything = false) {
  const written: string[] = []
  const log = createLog({ write: (text) => written.push(text), colour: false, everything })
  return { log, written }
}

test('JSON lines are formatted, other lines are unchanged', () => {
  const { log, written } = collect()
  const time = '2026-01-02T03:04:05.678Z'
  log.forProcess('gateway')(
    JSON.stringify({ level: 'warn', time, pid: 1, service: 'gateway', msg: 'slow', ms: 7 }),
  )
  log.forProcess('gateway')(
    JSON.stringify({ level: 'info', time, service: 'gateway', pid: 1, ms: 7, msg: 'quick' }),
  )
  log.forProcess('gateway')(
    JSON.stringify({ level: 'info', time, service: 'gateway', pid: 1, err: { stack: 'in\n f' }, msg: 'no' }),
  )
  log.forProcess('gateway')('not json')
  log.forProcess('gateway')('{neither is this')
  log.say('a word')
  expect(written[0]).toMatch(/^gateway {8} \[\d\d:\d\d:05\.678\] WARN: slow \{"ms":7\}\n$/)
  expect(written[1]).toMatch(/^gateway {8} \[\d\d:\d\d:05\.678\] INFO: quick \{"ms":7\}\n$/)
  expect(written[2]).toMatch(/ in\n +f\n/)
  expect(written.slice(3)).toEqual([
    'gateway         not json\n',
    'gateway         {neither is this\n',
    'leadwire        a word\n',
  ])
})

test('only warnings and errors of the servers are shown', () => {
  const { log, written } = collect()
  log.forProcess('postgres')('LOG:  checkpoint starting: time')
  log.forProcess('nats')('[1] [INF] Server is ready')
  log.forProcess('postgres')('ERROR:  deadlock detected')
  log.forProcess('nats')('[1] [WRN] slow consumer')
  expect(written).toHaveLength(2)
  const loud = collect(true)
  loud.log.forProcess('nats')('[1] [INF] Server is ready')
  expect(loud.written).toHaveLength(1)
})
