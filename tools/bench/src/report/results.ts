import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Machine } from '../measure/machine'
import type { Options } from '../options'
import { goalOf, plain, verdictOf } from './figure'
import type { Findings, Picture } from './report'

/** Writes results.md with its pictures beside it. */
export async function writeResults(options: Options, machine: Machine, findings: Findings): Promise<void> {
  await mkdir(options.out, { recursive: true })
  for (const { file, svg } of [...findings.charts, ...findings.flameGraphs])
    await writeFile(join(options.out, file), svg)
  await writeFile(join(options.out, 'results.md'), resultsText(options, machine, findings))
}

export function resultsText(options: Options, machine: Machine, findings: Findings): string {
  const sections = [
    `# Benchmark\n\n${introduction(options)}`,
    machine.facts.map((fact) => `- ${fact}`).join('\n'),
    figures(findings),
    findings.failures.length > 0 &&
      `## Not measured\n\n${findings.failures.map(({ scenario, message }) => `- ${scenario}: ${message}`).join('\n')}`,
    findings.notes.length > 0 && `## Also seen\n\n${findings.notes.map((note) => `- ${note}`).join('\n')}`,
    findings.cpu.length > 0 && cpu(findings),
    pictures('Curves', findings.charts),
    pictures('Where the time goes', findings.flameGraphs),
  ]
  return `${sections.filter(Boolean).join('\n\n')}\n`
}

function introduction({ rounds, seconds, quick }: Options): string {
  const warning = quick ? '**A quick run, to see that everything works: no figures to go by.**\n\n' : ''
  return (
    `${warning}Written by \`npm run bench\`. The stack is what \`npm start\` runs, with everything on; baselines run on the ` +
    'same machine, the same PostgreSQL server and the same rows, in the same run. Each figure is the median of ' +
    `${rounds} interleaved rounds of ${seconds} s; 64 connections unless it says otherwise. The load comes from a ` +
    'process of its own on the same cores.'
  )
}

function figures({ figures }: Findings): string {
  const rows = figures.map((figure) => {
    const { what, value, range, better, floor, aim, detail } = figure
    const spread = `${plain(range[0])} … ${plain(range[1])}`
    return `| ${what} | **${plain(value)}** | ${spread} | ${goalOf(better, floor)} | ${goalOf(better, aim)} | ${verdictOf(figure)} | ${detail} |`
  })
  return [
    '## Ratios',
    '',
    '| What | Measured | Rounds | Floor | Aim | Reached | Ours / baseline |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

function cpu({ cpu }: Findings): string {
  const names = [...new Set(cpu.flatMap(({ times }) => Object.keys(times)))]
  const rows = cpu.map(
    ({ kind, times }) =>
      `| ${kind} | ${names.map((name) => (times[name] ? Math.round(times[name]) : '')).join(' | ')} |`,
  )
  return [
    '## Processor time',
    '',
    'Microseconds for each request, by process; `postgres` is the server with all its backends, `npm start` the process that runs the stack and writes its log.',
    '',
    `| Request | ${names.join(' | ')} |`,
    `|---|${names.map(() => '---|').join('')}`,
    ...rows,
  ].join('\n')
}

function pictures(heading: string, list: Picture[]): string | false {
  if (list.length === 0) return false
  return [`## ${heading}`, ...list.map(({ title, file }) => `${title}\n\n![${title}](${file})`)].join('\n\n')
}
