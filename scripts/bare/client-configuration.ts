import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

const VARIABLES = [
  /^(?:https?|no|all)_proxy$/i,
  /^npm_config_(?:registry|cafile|strict_ssl)$/i,
  /^PIP_/,
  /^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_CAINFO)$/,
]
const NAMES_CERTIFICATES = /^\s*(?:cafile|cert)\s*=\s*["']?(\/[^"'\n]+)/gm

/** Copies how npm, pip and git reach their registries: their settings, and the certificates that those name. */
export function copyClientConfiguration(root: string, home: string): void {
  const variables = Object.entries(process.env).filter(([name]) => VARIABLES.some((form) => form.test(name)))
  const exports = variables.map(([name, value = '']) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`)
  writeFileSync(join(root, 'etc/profile.d/package-clients.sh'), exports.join(''))

  const npmFile = (name: string) => execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim()
  const files = {
    [npmFile('globalconfig')]: '/usr/local/etc/npmrc',
    [npmFile('userconfig')]: `${home}/.npmrc`,
    [process.env.PIP_CONFIG_FILE ?? '/etc/pip.conf']: process.env.PIP_CONFIG_FILE ?? '/etc/pip.conf',
    '/etc/xdg/pip/pip.conf': '/etc/xdg/pip/pip.conf',
    [join(homedir(), '.config/pip/pip.conf')]: `${home}/.config/pip/pip.conf`,
    [join(homedir(), '.pip/pip.conf')]: `${home}/.pip/pip.conf`,
  }
  const copied = Object.entries(files).filter(([file]) => existsSync(file))
  for (const [from, to] of copied) copy(from, join(root, to))

  const named = [
    '/etc/ssl/certs/ca-certificates.crt',
    ...variables.filter(([name]) => /CERT|_CA|CAFILE/i.test(name)).map(([, value = '']) => value),
    ...copied.flatMap(([file]) =>
      Array.from(readFileSync(file, 'utf8').matchAll(NAMES_CERTIFICATES), ([, path = '']) => path),
    ),
  ]
  for (const path of new Set(named)) if (path.startsWith('/') && existsSync(path)) copy(path, join(root, path))
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to, { recursive: true, dereference: true })
}
