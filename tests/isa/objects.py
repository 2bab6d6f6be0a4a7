# SPDX-License-Identifier: Apache-2.0
"""Makes code objects: the source that `groat source` prints, compiled by clang
and lld without any ROCm package, or by a hipRTC through `groat build`.  Objects
are kept under the hash of what they are made of, so that tests share them."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile

ARCHS = ('gfx90a', 'gfx942', 'gfx950')
# gfx950 came with LLVM 20.
LLVM_VERSIONS = range(30, 19, -1)
FLAGS = ['-x', 'hip', '-std=c++17', '-O3', '--cuda-device-only',
         '--no-gpu-bundle-output', '-nogpuinc', '-nogpulib',
         '-fms-extensions', '-fdeclspec']


class Skip(Exception):
    """Nothing to test with here, and why."""


class Failed(Exception):
    """A program that had to succeed did not."""


def _find(name, versions):
    """NAME-N for the highest N, else plain NAME."""
    for version in versions:
        path = shutil.which(f'{name}-{version}')
        if path:
            return path
    return shutil.which(name)


def _output(arguments, **more):
    done = subprocess.run(arguments, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise Failed(f'{" ".join(arguments)} said {done.returncode}: '
                     f'{(done.stderr or done.stdout).strip()[:2000]}')
    return done.stdout


class Tools:
    """What there is on this machine.  Raises Skip without a disassembler that
    knows every arch."""

    def __init__(self):
        self.groat = os.environ.get('GROAT', 'groat')
        if not shutil.which(self.groat):
            raise Skip(f'no groat at {self.groat}')
        self.objdump = _find('llvm-objdump', LLVM_VERSIONS)
        self.readelf = _find('llvm-readelf', LLVM_VERSIONS)
        if not self.objdump or not self.readelf:
            raise Skip('no llvm-objdump and llvm-readelf here')
        version = self._version(self.objdump)
        if version < LLVM_VERSIONS[-1]:
            raise Skip(f'{self.objdump} is of LLVM {version}; '
                       f'{LLVM_VERSIONS[-1]} is the first with gfx950')
        build = os.environ.get('top_builddir') or tempfile.gettempdir()
        self.store = os.path.join(build, 'tests', 'isa', 'objects')
        os.makedirs(self.store, exist_ok=True)

    @staticmethod
    def _version(path):
        m = re.search(r'version (\d+)', _output([path, '--version']))
        return int(m[1]) if m else 0


class Clang:
    """clang++ with lld, no ROCm package; GROAT_ISA_CLANG names another one."""
    name = 'clang'

    def __init__(self, tools):
        self.tools = tools
        given = os.environ.get('GROAT_ISA_CLANG')
        if given and not shutil.which(given):
            raise Failed(f'GROAT_ISA_CLANG is {given}, no program; it has to '
                         'be the path of a clang++')
        self.path = given or _find('clang++', LLVM_VERSIONS)
        if not self.path or tools._version(self.path) < LLVM_VERSIONS[-1]:
            raise Skip(f'no clang++ {LLVM_VERSIONS[-1]} or later here')
        self._linker()
        text = _output([self.path, '--version'])
        self.identity = 'clang ' + re.search(r'version ([\d.]+)', text)[1]

    def _linker(self):
        said = _output([self.path, '-print-prog-name=lld']).strip()
        if not shutil.which(said):
            raise Skip(f'{self.path} has no lld beside it')

    def archs(self):
        return ARCHS

    def compile(self, spec, arch, source, output):
        folder = os.path.dirname(output)
        with tempfile.NamedTemporaryFile('w', suffix='.hip',
                                         dir=folder) as file:
            file.write(source)
            file.flush()
            _output([self.path, *FLAGS, f'--offload-arch={arch}',
                     file.name, '-o', output])


class HipRtc:
    """A hipRTC, through `groat build`.  `wrapper` starts groat under another C
    library (tests/tools/hiprtc7.sh makes one)."""

    def __init__(self, tools, name='hiprtc', wrapper=None):
        self.name = name
        self.tools = tools
        self.command = [tools.groat]
        self.environment = dict(os.environ, AMD_COMGR_CACHE='0')
        if wrapper:
            self._wrap(wrapper)
        self.known = [a for a in ARCHS if self._knows(a)]
        if not self.known:
            raise Skip(f'{name}: no hipRTC here that knows one of '
                       f'{" ".join(ARCHS)}')

    def _wrap(self, wrapper):
        # libtool's wrapper script is no ELF file: take what it starts.
        folder = os.path.dirname(os.path.abspath(self.tools.groat))
        inner = os.path.join(folder, '.libs', 'groat')
        if os.path.exists(inner):
            libs = os.path.join(folder, '.libs')
            old = self.environment.get('LD_LIBRARY_PATH')
            self.environment['LD_LIBRARY_PATH'] = (
                libs + (':' + old if old else ''))
        else:
            inner = self.tools.groat
        self.command = [wrapper, inner]

    def _key(self, spec, arch):
        return subprocess.run(
            [*self.command, 'key', spec, '--identity', '--target',
             f'hip:{arch}'],
            capture_output=True, text=True, env=self.environment)

    def _knows(self, arch):
        done = self._key('tile_loader_lds', arch)
        if done.returncode not in (0, 3):
            raise Failed(f'groat key said {done.returncode}: {done.stderr}')
        m = re.search(r'^compiler (.*)$', done.stdout, re.M)
        if m:
            self.identity = m[1]
        return done.returncode == 0

    def archs(self):
        return tuple(self.known)

    def compile(self, spec, arch, source, output):
        _output([*self.command, 'build', spec, '--no-cache', '--target',
                 f'hip:{arch}', '--output', output], env=self.environment)


def compilers(tools, names=('clang', 'hiprtc', 'hiprtc7')):
    """The compilers of those names that are here, and why others are not."""
    found, missing = [], []
    for name in names:
        try:
            if name == 'clang':
                found.append(Clang(tools))
            elif name == 'hiprtc':
                found.append(HipRtc(tools))
            elif name == 'hiprtc7':
                folder = os.environ.get('GROAT_HIPRTC7')
                if not folder:
                    raise Skip('hiprtc7: GROAT_HIPRTC7 names no folder of '
                               'tests/tools/hiprtc7.sh')
                found.append(HipRtc(tools, name, os.path.join(folder, 'run')))
            else:
                raise Failed(f'no compiler is called {name}')
        except Skip as why:
            missing.append(str(why))
    return found, missing


def source_of(tools, spec, arch):
    """What the compiler gets."""
    return _output([tools.groat, 'source', spec, '--target', f'hip:{arch}'])


def family_names(tools):
    """The families inside groat."""
    listed = json.loads(_output([tools.groat, 'families', '--json']))
    return [f['name'] for f in listed['families']]


def is_for_amd(tools, family):
    """Does the family have source for one of the archs, by its defaults?"""
    for arch in ARCHS:
        try:
            source_of(tools, family, arch)
            return True
        except Failed:
            pass
    return False


def constants_of(source):
    """Parameters, derived constants and the GROAT_ macros of a source, as
    integers; `entry_name` is the kernel's name."""
    values = {}
    text = ''.join(re.findall(
        r'^namespace (?:arch|params) \{.*?^\}', source,
        re.M | re.S))
    for name, value in re.findall(
            r'^constexpr (?:int|bool|long long) (\w+) = (\S+);', text, re.M):
        values[name] = (1 if value == 'true' else 0 if value == 'false' else
                        values[value] if value in values else int(value))
    for name, value in re.findall(r'^#define GROAT_(\w+) (\d+)$', source,
                                  re.M):
        values[name.lower()] = int(value)
    values['entry_name'] = re.search(r'^#define GROAT_ENTRY (\w+)$', source,
                                     re.M)[1]
    return values


def make(tools, compiler, spec, arch, source):
    """Path of the code object of one spec."""
    text = '\0'.join([compiler.name, compiler.identity, arch, spec, *FLAGS,
                      source])
    key = hashlib.sha256(text.encode()).hexdigest()[:24]
    path = os.path.join(tools.store, f'{key}.co')
    if not os.path.exists(path):
        fd, scratch = tempfile.mkstemp(suffix='.co', dir=tools.store)
        os.close(fd)
        try:
            compiler.compile(spec, arch, source, scratch)
            os.replace(scratch, path)
        finally:
            if os.path.exists(scratch):
                os.unlink(scratch)
    return path
