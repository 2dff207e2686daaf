import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageFolder } from './vectors.fixture'

export const snippets = join(packageFolder, '../../docs/webhooks/snippets')
const runners = join(packageFolder, 'snippet-runners')

export interface Language {
  name: string
  /** The name of the file in docs/webhooks/snippets. */
  snippet: string
  /** The language of the snippet's code block in the guide. */
  fence: string
  /** The programs that can run the snippet. The first one that is installed is used. */
  tools: {
    program: string
    /** The arguments that make the program print its version. */
    asks: string[]
    prepare: (folder: string, version: string, port: number) => string[][]
  }[]
}

const script = (program: string, asks: string[], runner: string) => ({
  program,
  asks,
  prepare: () => [[program, join(runners, runner)]],
})

/**
 * The languages of the snippets. A tool's `prepare` writes its files into a folder and returns the commands
 * to run. The last command is the receiver (see run.mjs).
 */
export const languages: Language[] = [
  {
    name: 'Node',
    snippet: 'verify-webhook.mjs',
    fence: 'js',
    tools: [script(process.execPath, ['--version'], 'run.mjs')],
  },
  {
    name: 'Python',
    snippet: 'verify_webhook.py',
    fence: 'python',
    tools: [script('python3', ['--version'], 'run.py')],
  },
  {
    name: 'PHP',
    snippet: 'verify-webhook.php',
    fence: 'php',
    tools: [
      {
        program: 'php',
        asks: ['--version'],
        prepare: (_, __, port) => [
          ['php', '-d', 'display_errors=0', '-S', `127.0.0.1:${port}`, join(runners, 'run.php')],
        ],
      },
    ],
  },
  {
    name: 'Ruby',
    snippet: 'verify_webhook.rb',
    fence: 'ruby',
    tools: [script('ruby', ['--version'], 'run.rb')],
  },
  {
    name: 'Go',
    snippet: 'verify_webhook.go',
    fence: 'go',
    tools: [
      {
        program: 'go',
        asks: ['version'],
        prepare: (folder) => {
          mkdirSync(join(folder, 'webhooks'))
          writeFileSync(join(folder, 'go.mod'), 'module example\n\ngo 1.20\n')
          copyFileSync(join(snippets, 'verify_webhook.go'), join(folder, 'webhooks/verify_webhook.go'))
          copyFileSync(join(runners, 'run.go'), join(folder, 'run.go'))
          return [['go', 'build', '-o', 'run', '.'], ['./run']]
        },
      },
    ],
  },
  {
    name: 'Java',
    snippet: 'VerifyWebhook.java',
    fence: 'java',
    tools: [
      {
        program: 'javac',
        asks: ['-version'],
        prepare: (folder) => [
          ['javac', '-d', folder, join(snippets, 'VerifyWebhook.java'), join(runners, 'Run.java')],
          ['java', '-cp', folder, 'Run'],
        ],
      },
    ],
  },
  {
    name: 'C#',
    snippet: 'VerifyWebhook.cs',
    fence: 'csharp',
    tools: [
      {
        program: 'dotnet',
        asks: ['--version'],
        prepare: (folder, version) => {
          for (const file of ['Run.cs', 'Run.csproj']) copyFileSync(join(runners, file), join(folder, file))
          copyFileSync(join(snippets, 'VerifyWebhook.cs'), join(folder, 'VerifyWebhook.cs'))
          const framework = `-p:RunnerFramework=net${version.split('.')[0]}.0`
          return [
            ['dotnet', 'build', '--nologo', '-v', 'q', '-o', 'out', framework],
            ['dotnet', 'out/Run.dll'],
          ]
        },
      },
      {
        program: 'mcs',
        asks: ['--version'],
        prepare: (folder) => [
          [
            'mcs',
            `-out:${join(folder, 'Run.exe')}`,
            '-r:System.Core',
            join(snippets, 'VerifyWebhook.cs'),
            join(runners, 'Run.cs'),
          ],
          ['mono', join(folder, 'Run.exe')],
        ],
      },
    ],
  },
]

/** Finds the first installed tool of a language, with its version. */
export const findTool = ({ tools }: Language) => {
  for (const tool of tools) {
    const { status, stdout } = spawnSync(tool.program, tool.asks, { encoding: 'utf8' })
    if (status === 0) return { ...tool, version: stdout.trim() }
  }
  return undefined
}
