import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHART } from './render.fixture'

const README = readFileSync(join(CHART, 'README.md'), 'utf8')

/** Returns the code blocks of a language in a section of the chart's README. */
export const inReadme = (heading: string, language: 'bash' | 'sql' | 'yaml'): string => {
  const section = README.split(/^##+ /m).find((one) => one.startsWith(`${heading}\n`)) ?? ''
  const blocks = [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
  const found = blocks.filter(([, name]) => name === language).map(([, , text]) => text)
  if (found.length === 0) throw new Error(`the README has no ${language} under ${heading}`)
  return found.join('')
}

/** Replaces the README's examples with a reader's values. Throws if the README lacks one of the examples. */
export const fillIn = (text: string, own: Record<string, string>): string =>
  Object.entries(own).reduce((filled, [example, value]) => {
    if (!README.includes(example)) throw new Error(`the README has no ${example}`)
    return filled.replaceAll(example, value)
  }, text)
