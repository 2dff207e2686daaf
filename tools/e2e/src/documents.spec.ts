import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const ROOT = resolve(__dirname, '../../..')
const NOT_OURS = new Set(['node_modules', 'dist', 'generated', 'out', 'coverage'])

/** Every file of the repository, as a path from its root. Folders with a dot hold what tools make. */
const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (!entry.isDirectory()) return [relative(ROOT, path)]
    return NOT_OURS.has(entry.name) || entry.name.startsWith('.') ? [] : filesBelow(path)
  })

const FILES = filesBelow(ROOT)
const DOCUMENTS = FILES.filter((file) => file.endsWith('.md'))

/** A document without what stands in fenced blocks. */
const proseOf = (file: string) =>
  readFileSync(join(ROOT, file), 'utf8').replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1[^\n]*$/gm, '')

/** The anchors that GitHub gives to headings. */
const anchorsOf = (file: string) =>
  [...proseOf(file).matchAll(/^#+ +(.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )

const isBroken = (document: string, link: string): boolean => {
  const [path = '', anchor] = decodeURI(link).split('#')
  const target = path === '' ? document : join(dirname(document), path)
  if (!existsSync(join(ROOT, target))) return true
  return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(anchor)
}

test.each(DOCUMENTS)('%s: every relative link leads somewhere', (document) => {
  const links = [...proseOf(document).matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map(([, link]) => link!)
  const relativeLinks = links.filter((link) => !/^([a-z]+:|\/)/.test(link))
  expect(relativeLinks.filter((link) => isBroken(document, link))).toEqual([])
})

const ABOUT_THE_CODE = DOCUMENTS.filter((file) => /^docs\/(architecture\.md|decisions\/)/.test(file))

const isThere = (name: string) =>
  FILES.some((file) => {
    const path = `/${file}`
    return name.endsWith('/') ? path.includes(`/${name}`) : path.endsWith(`/${name}`)
  })

test.each(ABOUT_THE_CODE)('%s: every file and folder that it names is there', (document) => {
  const names = [...proseOf(document).matchAll(/`([\w.@-][\w./@-]*(?:\/|\.(?:ts|proto|cjs|mjs|md|yaml)))`/g)]
  expect(names.map(([, name]) => name!).filter((name) => !isThere(name))).toEqual([])
})
