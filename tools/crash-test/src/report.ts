import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Report } from './crash-test'

const renderTable = (rows: [string, number | string][]): string[] => [
  '| What | Count |',
  '|---|---:|',
  ...rows.map(([what, count]) => `| ${what} | ${count} |`),
]

/** Renders the report as Markdown. */
export const renderReport = ({ verdict, hazards, ...report }: Report): string => {
  const anomalies = [...verdict.duplicates, ...verdict.unrecorded]
  const longest = Math.max(0, ...hazards.map(({ from, until }) => until - from))
  return [
    '# Crash test',
    '',
    `Seed ${report.seed}, ${report.minutes} minutes from ${report.startedAt}.`,
    '',
    report.errors.length === 0 ? 'Nothing was lost.' : `**Errors:** ${report.errors.join('; ')}.`,
    '',
    ...renderTable([
      [
        'processes killed, or lost with their machine',
        hazards.filter(({ what }) => what !== 'frozen').length,
      ],
      ['processes frozen', hazards.filter(({ what }) => what === 'frozen').length],
      ['longest time until everything was ready again, ms', longest],
      ['leads accepted', verdict.accepted],
      ['failed requests', Object.values(report.failures).reduce((sum, count) => sum + count, 0)],
      ['leads lost', verdict.leadsLost.length],
      ['leads created without a response', verdict.leadsWithoutResponse.length],
      ['events lost', verdict.eventsLost.length],
      ['webhooks lost', verdict.webhooksLost.length],
      ['files stored', report.files.stored],
      ['files lost', report.files.lost.length],
      ['duplicates at the receiver', verdict.duplicates.length],
      ['duplicates without an explanation', verdict.duplicates.filter(({ because }) => !because).length],
      ['unrecorded attempts', verdict.unrecorded.length],
      [
        'unrecorded attempts without an explanation',
        verdict.unrecorded.filter(({ because }) => !because).length,
      ],
      ['deliveries with wrong records of attempts', verdict.attemptsWrong.length],
      ['events with a wrong number', verdict.numbersWrong.length],
      ['findings of `leadwire reconcile --full`', report.reconciled.unexplained_count],
      ['leads with wrong figures', report.figures.differing_leads.length],
      ['days with wrong figures', report.figures.differing_days.length],
    ]),
    '',
    ...(anomalies.length > 0 ? ['| Event | Attempt | Explanation |', '|---|---|---|'] : []),
    ...anomalies.map(({ eventId, at, because }) => `| ${eventId} | ${at} | ${because ?? '**none**'} |`),
    '',
    '| Process | What | At | Ready again after, ms |',
    '|---|---|---|---:|',
    ...hazards.map(
      ({ process, what, from, until }) =>
        `| ${process} | ${what} | ${new Date(from).toISOString()} | ${until - from} |`,
    ),
    '',
  ].join('\n')
}

/** Writes the report as JSON and as Markdown. */
export const writeReport = async (out: string, report: Report): Promise<void> => {
  await mkdir(out, { recursive: true })
  await writeFile(join(out, 'crash-test.json'), `${JSON.stringify(report, null, 2)}\n`)
  await writeFile(join(out, 'crash-test.md'), renderReport(report))
}
