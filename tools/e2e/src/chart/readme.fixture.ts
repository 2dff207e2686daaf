import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHART } from './render.fixture'

const README = readFileSync(join(CHART, 'README.md'), 'utf8')

/** What stands in the fenced blocks of a language below a heading of the chart's README, up to the next heading. */
export const inReadme = (heading: string, language: 'bash' | 'sql' | 'yaml'): string => {
  const section = README.split(/^##+ /m).find((one) => one.startsWith(`${heading}\n`)) ?? ''
  const blocks = [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
  const found = blocks.filter(([, name]) => name === language).map(([, , text]) => text)
  if (found.length === 0) throw new Error(`the README has no ${language} under ${heading}`)
  return found.join('')
}

/** Puts what a reader has in the place of the README's examples, each of which must be there. */
export const fillIn = (text: string, own: Record<string, string>): string =>
  Object.entries(own).reduce((filled, [example, value]) => {
    if (!README.includes(example)) throw new Error(`the README has no ${example}`)
    return filled.replaceAll(example, value)
  }, text)
