import { flameGraph, hottest, mergedFrames, type Profile } from './flame-graph'

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 4 })

const profile: Profile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 3, 5] },
    { id: 2, callFrame: frame('handle', 'file:///somewhere/apps/gateway/dist/main.js'), children: [4] },
    { id: 3, callFrame: frame('(idle)') },
    { id: 4, callFrame: frame('parse', '/somewhere/node_modules/pg/lib/parser.js') },
    { id: 5, callFrame: frame('handle', 'file:///somewhere/apps/gateway/dist/main.js') },
  ],
  samples: [2, 3, 4, 5],
  timeDeltas: [10, 1000, 30, 20],
}

it('joins frames of one name, leaves waiting out, and names files without the machine’s folders', () => {
  const root = mergedFrames(profile)
  expect(root.total).toBe(60)
  const handle = root.children.get('handle apps/gateway/dist/main.js:5')
  expect(handle).toMatchObject({ own: 30, total: 60 })
  expect(handle?.children.get('parse pg/lib/parser.js:5')).toMatchObject({ own: 30, total: 30 })
  expect([...root.children.keys()]).toHaveLength(1)
})

it('draws every frame that is wide enough, and no folder of the machine', () => {
  const svg = flameGraph('a <title>', profile)
  expect(svg).toContain('parse pg/lib/parser.js:5 (50.0 %)')
  expect(svg).toContain('a &lt;title&gt;')
  expect(svg).not.toContain('somewhere')
})

it('tells which functions have most time of their own', () => {
  expect(hottest(mergedFrames(profile), 2).map(({ share }) => share)).toEqual([0.5, 0.5])
})
