"""How the arguments of PyTorch's functions are given to operators of ops.yaml whose signatures are others."""

MODES = {'nearest': 'nearest', 'nearest-exact': 'nearest_exact', 'linear': 'linear', 'bilinear': 'linear', 'trilinear': 'linear', 'bicubic': 'cubic'}
# What the schema does not have, with the value that PyTorch's suite also gives for nothing.
NOTHING = {
    '': {'out_int32': False, 'sorter': None},  # of every operator
    'index_add': {'alpha': 1}, 'nonzero': {'as_tuple': False},
    'trunc_divide': {'rounding_mode': 'trunc'}, 'instance_norm': {'running_mean': None, 'running_var': None, 'use_input_stats': True},
    'batch_norm': {'training': False}, 'interpolate': {'scale_factor': None, 'recompute_scale_factor': None, 'align_corners': None},
}
# Positional arguments that the schema names, in PyTorch's order behind the operands and arguments that both have.
POSITIONS = {'avg_pool1d': 2, 'avg_pool2d': 2, 'avg_pool3d': 2}
POOLING = ('stride', 'padding', 'ceil_mode', 'count_include_pad', 'divisor_override')


def adapted(name, args, kwargs):
    """args and kwargs as the operator takes them."""
    args, kwargs = list(args), dict(kwargs)
    for key, value in (NOTHING[''] | NOTHING.get(name, {})).items():
        if key in kwargs and kwargs[key] == value:
            del kwargs[key]
    if name in POSITIONS:
        kwargs.update(zip(POOLING, args[POSITIONS[name]:]))
        del args[POSITIONS[name]:]
        if kwargs.get('divisor_override') is None:
            kwargs.pop('divisor_override', None)
    elif name.startswith('adaptive_max_pool') and len(args) > 2 and args[2] is name.endswith('_with_indices'):
        del args[2:]
    elif name in ('batch_norm', 'instance_norm'):
        kwargs.pop('momentum', None)
    elif kwargs.get('side') is not None:
        kwargs['right'] = kwargs.pop('side') == 'right'
    elif name == 'grid_sample' and 'mode' in kwargs:
        kwargs['interpolation'] = kwargs.pop('mode')
    elif name == 'interpolate' and kwargs.get('mode') in MODES:
        kwargs['resize_mode'] = MODES[kwargs.pop('mode')]
        size = args.pop(1) if len(args) > 1 else kwargs.pop('size', None)
        if size is not None:
            kwargs['size'] = [size] * (args[0].dim() - 2) if isinstance(size, int) else list(size)
    elif name == 'repeat_interleave' and 'repeats' in kwargs:
        kwargs['n'] = kwargs.pop('repeats')
    elif name == 'tensordot' and 'dims' in kwargs:
        dims = kwargs.pop('dims')
        if isinstance(dims, int):
            dims = list(range(args[0].dim() - dims, args[0].dim())), list(range(dims))
        kwargs['x_dims'], kwargs['y_dims'] = dims
    return args, kwargs
