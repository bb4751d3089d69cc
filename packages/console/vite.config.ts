import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwind()],
  build: {
    // The policy of the page has no `data:`, so every picture stays a file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Only the browsers of today: `light-dark()` stays as it is written.
    target: 'es2024',
    cssTarget: ['chrome125', 'firefox128', 'safari18'],
    reportCompressedSize: false,
    // In kB. A browser gets the whole page once, compressed, from a listener on its own network.
    chunkSizeWarningLimit: 600,
    emptyOutDir: true,
  },
})
